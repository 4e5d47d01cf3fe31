"""The funnel: what is counted, at what rate, and how long it will take."""

from __future__ import annotations

from sandmle.cli._synthesis_progress import Funnel
from sandmle.graphs.synthesis import Progress, Rejection, SlotRecord, Traits

TRAITS = Traits(
    kind="tabular",
    modality="tabular",
    problem_type="binary",
    link="binary",
    metric="roc_auc",
    domain="tram-depot",
    noise=0.2,
    primitives=("linear",),
    difficulty=0.5,
)


def settled(slot: int, **spent) -> Progress:
    record = SlotRecord(
        slot=slot, seed="iris", outcome="published", task_id="a-1", candidates=1, rejections=(), **spent
    )
    return Progress(slot=slot, node="settled", settled=record)


def test_the_funnel_counts_each_candidate_once_a_stage() -> None:
    funnel = Funnel(2, now=lambda: 0.0)
    rejection = Rejection(
        candidate=0, stage="thresholds", reason="order: no", traits=TRAITS, reached="generated", cpu_s=1.0
    )
    for event in (
        Progress(slot=0, node="data_strategist", reached="drawn"),
        Progress(slot=0, node="threshold_check", reached="generated"),
        Progress(slot=0, node="threshold_check", reached="generated"),
        Progress(slot=0, node="reject", rejection=rejection),
        Progress(slot=0, node="data_strategist", reached="drawn"),
        Progress(slot=0, node="threshold_check", reached="separable"),
        Progress(slot=0, node="final_verification", reached="leak_free", discoverable=True),
        Progress(slot=0, node="publish", reached="published"),
        settled(0),
    ):
        funnel.add(event)
    assert funnel.stages() == [
        ("drawn", 2),
        ("generated", 2),
        ("ordered", 1),
        ("separable", 1),
        ("leak-free", 1),
        ("discoverable", 1),
        ("published", 1),
    ]
    assert funnel.reasons() == [("thresholds: order", 1)]


def test_pace_counts_what_this_run_made() -> None:
    clock = iter([0.0, 120.0])
    funnel = Funnel(10, now=lambda: next(clock))
    funnel.add(settled(0))
    funnel.add(Progress(slot=1, node="data_strategist", reached="drawn"))
    funnel.add(settled(1))
    assert funnel.pace() == "2/10 tasks, 0.5 a minute, about 16 min left"


def test_nothing_made_yet_gives_no_rate() -> None:
    assert Funnel(3, now=lambda: 0.0).pace() == "0/3 tasks"


def test_the_cost_counts_each_slot_once_and_is_extended_to_the_whole_batch() -> None:
    funnel = Funnel(4, now=lambda: 0.0)
    assert funnel.cost() == ""
    funnel.add(Progress(slot=0, node="data_strategist", tokens=1000, money=0.5))
    assert funnel.cost() == "1,000 tokens, 0.50 by the given prices"
    funnel.add(Progress(slot=0, node="ml_developer", tokens=3000, money=1.0))
    funnel.add(settled(0, tokens=4000, money=1.5))
    funnel.add(Progress(slot=1, node="data_strategist", tokens=500, money=0.25))
    assert funnel.cost() == "4,500 tokens, 1.75 by the given prices, about 6.00 for all 4"


def test_without_prices_the_cost_is_tokens() -> None:
    funnel = Funnel(1, now=lambda: 0.0)
    funnel.add(settled(0, tokens=4000))
    assert funnel.cost() == "4,000 tokens"
