"""Mixes: the shares of the paper, whatever the size, and seeds of the modality where there are any."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.graphs.synthesis.mix import MIXES, parse_mix, slot_plan
from sandmle.seeds import select_seeds

SEEDS = select_seeds(["iris,breast-cancer,paper"])


@pytest.mark.parametrize("n", [24, 120, 1200])
def test_paper_shares_are_met_to_a_task(n: int) -> None:
    counts = Counter(modality for _, modality in slot_plan("paper", SEEDS, n))
    for modality, percent in MIXES["paper"].items():
        assert abs(counts[modality] - n * percent / 100) < 1


@given(
    st.dictionaries(st.sampled_from(["image", "text", "graph"]), st.floats(0.01, 100), min_size=1), st.integers(1, 60)
)
def test_a_larger_batch_only_adds_slots(weights: dict[str, float], n: int) -> None:
    mix = ",".join(f"{name}={weight!r}" for name, weight in weights.items())
    assert slot_plan(mix, SEEDS, n) == slot_plan(mix, SEEDS, n + 7)[:n]


def test_seeds_of_the_modality_take_turns() -> None:
    slots = slot_plan("image=1", SEEDS, 60)
    assert {seed.modality for seed, _ in slots} == {"image"}
    assert len({seed.id for seed, _ in slots}) == sum(seed.modality == "image" for seed in SEEDS)


def test_a_modality_without_seeds_borrows_from_all() -> None:
    tables = select_seeds(["iris,wine"])
    assert [(seed.id, modality) for seed, modality in slot_plan("audio=1", tables, 3)] == [
        ("iris", "audio"),
        ("wine", "audio"),
        ("iris", "audio"),
    ]


def test_seed_mix_keeps_each_seeds_own_modality() -> None:
    assert slot_plan("seed", SEEDS[:2], 3) == [(SEEDS[0], None), (SEEDS[1], None), (SEEDS[0], None)]


@pytest.mark.parametrize(
    "text", ["papers", "image", "image=0", "image=-1", "image=nan", "video=1", "image=1,", "image=inf"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--mix"):
        parse_mix(text)
