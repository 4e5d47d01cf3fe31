"""What is kept of finished sequences, and what is found again."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.rl.engine.prefixes import Prefixes, recall  # noqa: E402


def cache_of(*rows, layers=2):
    """A cache whose keys are the ids, so that a test can tell what it reads; values are their negatives."""
    keys = torch.tensor(rows, dtype=torch.float32)[:, None, :, None].expand(-1, 3, -1, 4)
    return SimpleNamespace(layers=[SimpleNamespace(keys=keys + 100 * n, values=-keys - 100 * n) for n in range(layers)])


def keep(prefixes, *ids):
    prefixes.keep(ids, cache_of(ids), 0, torch.arange(len(ids)))


def test_the_longest_beginning_is_found_and_never_the_whole_prompt():
    prefixes = Prefixes()
    keep(prefixes, 1, 2, 3, 4)
    keep(prefixes, 1, 2)
    keep(prefixes, 1, 9)
    assert prefixes.find((1, 2, 3, 4, 5)).ids == (1, 2, 3, 4)
    assert prefixes.find((1, 2, 3, 4)).ids == (1, 2)
    assert prefixes.find((1, 2)) is None
    assert prefixes.find((2, 1, 2, 3)) is None


def test_the_oldest_goes_first_and_what_is_kept_again_is_new():
    one = 2 * 2 * 3 * 2 * 4 * 4  # layers, keys and values, heads, tokens, size, bytes
    prefixes = Prefixes(max_bytes=2 * one)
    keep(prefixes, 1, 2)
    keep(prefixes, 3, 4)
    keep(prefixes, 1, 2)
    keep(prefixes, 5, 6)
    assert [prefixes.find((*ids, 0)) is not None for ids in ((1, 2), (3, 4), (5, 6))] == [True, False, True]


def test_what_is_larger_than_the_bound_drives_nothing_out():
    prefixes = Prefixes(max_bytes=2 * 2 * 3 * 2 * 4 * 4)
    keep(prefixes, 1, 2)
    keep(prefixes, *range(50))
    assert prefixes.find((1, 2, 3)) is not None
    assert len(prefixes) == 1


def test_a_later_turn_takes_the_place_of_the_one_before():
    prefixes = Prefixes()
    keep(prefixes, 1, 2)
    keep(prefixes, 1, 2, 3, 4)
    assert len(prefixes) == 1
    assert prefixes.find((1, 2, 9)) is None


def test_a_cache_is_made_of_what_is_known_padded_on_the_left():
    prefixes = Prefixes()
    prefixes.keep((7, 8), cache_of((0, 7, 0, 8), (1, 1, 1, 1)), 0, torch.tensor([1, 3]))
    keep(prefixes, 4, 5, 6)
    cache, present = recall([prefixes.find((7, 8, 0)), None, prefixes.find((4, 5, 6, 0))])
    assert present.tolist() == [[0, 1, 1], [0, 0, 0], [1, 1, 1]]
    assert cache.layers[0].keys[:, 0, :, 0].tolist() == [[0, 7, 8], [0, 0, 0], [4, 5, 6]]
    assert cache.layers[1].values[:, 2, :, 3].tolist() == [[0, -107, -108], [0, 0, 0], [-104, -105, -106]]
    empty, nothing = recall([None, None])
    assert not empty.layers
    assert nothing.shape == (2, 0)
