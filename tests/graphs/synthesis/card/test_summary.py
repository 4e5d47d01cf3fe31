"""The numbers of the card by hand: funnel, yield, thirds, effective numbers and cost, from slots made up for it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sandmle.agents.procedural.rules import NOISE
from sandmle.graphs.synthesis import Rejection, SlotRecord, Traits
from sandmle.graphs.synthesis.card._collect import Collected, noise_level
from sandmle.graphs.synthesis.card._measured import measure
from sandmle.graphs.synthesis.card._record import Quartiles
from sandmle.graphs.synthesis.card._summary import _count, _funnel, _groups, _nearest, _thirds
from sandmle.graphs.synthesis.novelty import Fingerprint, similarity


def traits(difficulty: float, **changes: object) -> Traits:
    given = {
        "kind": "tabular",
        "modality": "tabular",
        "problem_type": "binary",
        "link": "binary",
        "metric": "roc_auc",
        "domain": "tram-depot",
        "noise": 0.16,
        "primitives": ("hinge", "linear"),
        "difficulty": difficulty,
        **changes,
    }
    return Traits.model_validate(given)


def given_up(difficulty: float, reached: str, reason: str, cpu_s: float, **changes: object) -> Rejection:
    return Rejection.model_validate(
        {
            "candidate": 0,
            "stage": "thresholds",
            "reason": reason,
            "traits": traits(difficulty, **changes),
            "reached": reached,
            "cpu_s": cpu_s,
        }
    )


def slot(number: int, difficulty: float | None, *rejections: Rejection, cpu_s: float = 4.0, **changes: object):
    kept = difficulty is not None
    return SlotRecord(
        slot=number,
        seed="iris",
        outcome="published" if kept else "discarded",
        task_id=f"task-{number}" if kept else None,
        candidates=len(rejections) + kept,
        rejections=rejections,
        traits=traits(difficulty, **changes) if kept else None,
        discoverable=number != 2 if kept else None,
        cpu_s=cpu_s if kept else None,
        rung_cpu_s={"linear": float(number + 1)} if kept else None,
    )


@pytest.fixture
def collected() -> Collected:
    """Six candidates in four slots: three kept, three given up."""
    slots = (
        slot(0, 0.1),
        slot(1, None, given_up(0.9, "ordered", "headroom: too little", 6.0, modality="image", kind="light")),
        slot(2, 0.3, given_up(0.7, "drawn", "headroom: none", 2.0, noise=0.3), modality="image", kind="light"),
        slot(3, 0.5, given_up(0.6, "generated", "order: blend does not beat dummy", 1.0), primitives=("linear",)),
    )
    return Collected(Path(), (), slots, None)


def test_the_funnel_counts_every_stage_that_was_passed(collected):
    funnel = _funnel(collected.slots)
    assert funnel.stages == {
        "drawn": 6,
        "generated": 5,
        "ordered": 4,
        "separable": 3,
        "leak_free": 3,
        "published": 3,
        "discoverable": 2,
    }
    assert funnel.rejections == {"thresholds: headroom": 2, "thresholds: order": 1}
    assert (funnel.slots, funnel.discarded) == (4, 1)


def test_yield_counts_a_candidate_in_every_group_it_belongs_to(collected):
    def table(dimension):
        groups = _groups(dimension, (), collected.candidates())
        return {group.name: group.drawn for group in groups}

    assert table("modality") == {"tabular": 4, "image": 2}
    assert table("primitive") == {"linear": 6, "hinge": 5}
    assert list(table("noise").items()) == [("low", 5), ("high", 1)]


def test_thirds_are_those_of_all_drawn_candidates(collected):
    thirds = _thirds(collected.candidates())
    assert [(third.drawn, third.kept) for third in thirds] == [(2, 2), (2, 1), (2, 0)]
    assert (thirds[0].low, thirds[2].high) == (0.1, 0.9)
    assert [third.high for third in thirds[:2]] == [third.low for third in thirds[1:]]
    assert _thirds([]) == ()


def test_cost_per_kept_task_includes_what_was_given_up(collected):
    measured = measure(collected)
    assert measured is not None
    assert measured.total.per_kept == pytest.approx((3 * 4.0 + 6.0 + 2.0 + 1.0) / 3)
    assert {cost.name: cost.per_kept for cost in measured.costs["modality"]} == {"image": 10.0, "tabular": 5.5}
    assert next(cost for cost in measured.costs["noise"] if cost.name == "high").per_kept is None
    assert measured.rungs["linear"] == Quartiles(n=3, least=1, lower=2, median=3, upper=3.5, most=4)
    assert measure(Collected(Path(), (), (), None)) is None


def test_the_effective_number_is_the_exponential_of_the_entropy():
    assert _count("aabbccdd").effective == 4.0
    shares = (5 / 8, 2 / 8, 1 / 8)
    expected = math.prod(share**-share for share in shares)
    assert _count("aaaaabbc").effective == pytest.approx(expected, abs=1e-6)
    assert _count("aaaaabbc").distinct == 3


def test_the_nearest_task_is_that_of_all_pairs():
    def print_of(name, *words):
        rule, schema = frozenset(words), frozenset(word[0] for word in words)
        return Fingerprint(name, rule, schema, frozenset(map(len, words)))

    tasks = [print_of("a", "ab", "acd"), print_of("b", "ab", "bcd"), print_of("c", "xyz"), print_of("d", "ab", "acde")]
    oracle = [max(similarity(one, other) for other in tasks if other is not one) for one in tasks]
    assert _nearest(tasks) == pytest.approx(oracle)
    assert oracle[2] == 0.0
    assert max(oracle) > 0.2
    assert _nearest(tasks[:1]) == []


@pytest.mark.parametrize("link", sorted(NOISE))
def test_noise_is_named_by_the_level_of_its_link(link):
    assert [noise_level(traits(0.5, link=link, noise=noise)) for noise in NOISE[link]] == ["low", "medium", "high"]
    assert noise_level(traits(0.5, link=link, noise=NOISE[link][0] / 3)) == "low"


def test_no_numbers_have_no_quartiles():
    assert Quartiles.of([]) is None
