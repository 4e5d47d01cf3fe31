from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from sandmle.seeds._split import choose_rows, split_generator, thin


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=200), st.integers(1, 50), st.integers(0, 2**32))
def test_no_class_is_chosen_whole_and_shares_are_kept(labels, percent, draw):
    chosen = choose_rows(labels, len(labels), percent, np.random.default_rng(draw))
    for label, count in Counter(labels).items():
        taken = sum(1 for index in np.flatnonzero(chosen) if labels[index] == label)
        assert taken < count
        assert abs(taken - count * percent / 100) <= 1


@given(st.integers(1, 300), st.integers(1, 50), st.integers(0, 2**32))
def test_without_labels_the_share_is_exact(n_rows, percent, draw):
    chosen = choose_rows(None, n_rows, percent, np.random.default_rng(draw))
    assert chosen.sum() == n_rows * percent // 100


def test_draws_depend_on_name_and_purpose_alone():
    draws = {
        (name, purpose): tuple(split_generator(name, purpose).permutation(50))
        for name in ("iris", "wine")
        for purpose in ("rows", "usage")
    }
    assert len(set(draws.values())) == 4
    assert tuple(split_generator("iris", "rows").permutation(50)) == draws["iris", "rows"]


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=200), st.integers(1, 100))
def test_a_sample_keeps_the_shares_and_the_order(labels, most):
    rows = pd.DataFrame({"place": range(len(labels)), "label": labels})
    kept = thin(rows, most, name="seed", target="label", classes=("a", "b", "c", "d", "e"))
    assert len(kept) == min(most, len(labels))
    assert kept["place"].is_monotonic_increasing
    assert (kept["label"] == rows["label"][kept["place"]].to_numpy()).all()
    for label, count in Counter(labels).items():
        assert abs((kept["label"] == label).sum() - count * min(most / len(labels), 1)) <= 1


def test_a_sample_of_numbers_is_drawn_by_the_name():
    rows = pd.DataFrame({"y": np.arange(100.0)})
    first, again, other = (thin(rows, 10, name=name, target="y", classes=()) for name in ("a", "a", "b"))
    assert first.equals(again)
    assert not first.equals(other)
