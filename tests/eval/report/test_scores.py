"""Headroom, overfit gap, HumanRank, performance profiles and the turn-limit curve against numbers worked out apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.eval.report import compare, summarize
from sandmle.eval.runs import Scale
from sandmle.task import Thresholds
from sandmle.trajectory import Chosen

SCALES = {"a": Scale(dummy=0.5, bayes=0.9), "b": Scale(dummy=10.0, bayes=2.0)}
"""Accuracy, and an error where lower is better."""


def test_headroom_by_hand(make_run, make_summary):
    """(.7 - .5) / .4 = .5; (4 - 10) / (2 - 10) = .75; worse than the dummy and invalid count 0; c has no scale."""
    rows = [
        make_summary("m", "a", 0, 0.4, score=0.7),
        make_summary("m", "a", 1, 0.4, score=0.1),
        make_summary("m", "b", 0, 0.4, score=4.0, lower_is_better=True),
        make_summary("m", "b", 1, 0.0, error="missing", lower_is_better=True),
        make_summary("m", "c", 0, 0.4, score=0.7),
        make_summary("m", "a", 2, 0.0, status="infra_error"),
    ]
    (row,) = summarize([make_run(rows, scales=SCALES, repeats=3)]).rows
    assert row.headroom.mean == pytest.approx((0.5 + 0 + 0.75 + 0) / 4)
    assert row.headroom.low is not None
    assert row.aup is None  # nothing to compare with
    (older,) = summarize([make_run(rows, repeats=3)]).rows
    assert older.headroom is None


def test_the_overfit_gap_is_above_0_where_public_rows_flatter_in_either_direction(make_run, make_summary):
    """Units: a .4, b -8, c gold - median = .3, d none; cut to [-1, 1]; one without a public score says nothing."""
    tiers = Thresholds(median=0.5, bronze=0.6, silver=0.7, gold=0.8)
    facts = {
        "a": {"score": 0.7, "public_score": 0.9},
        "b": {"score": 6.0, "public_score": 2.0, "lower_is_better": True},
        "c": {"score": 0.8, "public_score": 0.5, "thresholds": tiers},
        "d": {"score": 0.7, "public_score": 0.9, "thresholds": None},
        "e": {"score": 0.7},
    }
    for name, expected in {"a": 0.5, "b": 0.5, "c": -1.0, "d": None, "e": None}.items():
        run = make_run([make_summary("m", name, 0, 0.4, **facts[name])], scales=SCALES if name in SCALES else {})
        gap = summarize([run]).rows[0].overfit_gap
        assert (gap and gap.mean) == (expected and pytest.approx(expected))


def test_human_rank_counts_invalid_submissions_where_there_are_boards(make_run, make_summary):
    rows = [
        make_summary("m", "a", 0, 0.4, human_rank=0.8),
        make_summary("m", "a", 1, 0.0, error="empty"),
        make_summary("m", "b", 0, 0.0, error="empty"),
        make_summary("n", "b", 0, 0.4, human_rank=0.5),
        make_summary("n", "c", 0, 0.4),
    ]
    first, second = summarize([make_run(rows, repeats=2)]).rows
    assert first.human_rank.mean == pytest.approx((0.8 + 0 + 0) / 3)
    assert second.human_rank.mean == pytest.approx(0.5)


def test_a_task_with_boards_that_nobody_solved_counts_as_0(make_run, make_summary):
    rows = [
        make_summary("m", "a", 0, 0.4, human_rank=0.8),
        make_summary("m", "b", 0, 0.0, error="empty"),
        make_summary("m", "c", 0, 0.0, error="empty"),
    ]
    (row,) = summarize([make_run(rows, ranked=("a", "b"))]).rows
    assert row.human_rank.mean == pytest.approx(0.8 / 2)


def dolan_more_area(performances, steps=4_001):
    """Area under each solver's profile, by the definition: ratios to the best, a share within each factor, a sum.

    Args:
        performances: for each solver, for each problem, positive numbers where larger is better, 0 for a failure.
    """
    problems = range(len(next(iter(performances.values()))))
    best = [max(max(solver[problem]) for solver in performances.values()) for problem in problems]
    factors = np.exp(np.linspace(0, 1, steps))
    areas = {}
    for name, solver in performances.items():
        shares = []
        for problem in problems:
            ratios = np.array([best[problem] / each if each else math.inf for each in solver[problem]])
            shares.append(np.mean(ratios[:, None] <= factors * (1 + 1e-12), axis=0))
        profile = np.mean(shares, axis=0)
        areas[name] = float(np.mean((profile[1:] + profile[:-1]) / 2))
    return areas


def areas_of(make_run, make_summary, scores, scales, lower=frozenset()):
    """The AUP of each policy; ``scores`` by policy and task, None for an invalid submission."""
    rows = [
        make_summary(
            policy,
            task,
            repeat,
            0.4,
            error=None if score is not None else "empty",
            lower_is_better=task in lower,
            **({} if score is None else {"score": score}),
        )
        for policy, tasks in scores.items()
        for task, found in tasks.items()
        for repeat, score in enumerate(found)
    ]
    report = summarize([make_run(rows, scales=scales, repeats=9)])
    return {row.policy: row for row in report.rows}


def test_the_area_by_hand(make_run, make_summary):
    """On a (unit .4) the best is .8: gaps 0 and .5, then .25; on b (unit -8) the best is 2: gaps .5, infinite, 0.

    m: a (1 + .5) / 2 = .75, b .5; n: a .75, b (0 + 1) / 2 = .5.
    """
    scores = {"m": {"a": [0.8, 0.6], "b": [6.0]}, "n": {"a": [0.7], "b": [None, 2.0]}}
    rows = areas_of(make_run, make_summary, scores, SCALES, lower={"b"})
    assert rows["m"].aup == pytest.approx((0.75 + 0.5) / 2)
    assert rows["n"].aup == pytest.approx((0.75 + 0.5) / 2)
    assert rows["m"].profile[0] == pytest.approx((0.5 + 0) / 2)
    assert rows["m"].profile[-1] == pytest.approx(1)
    assert rows["n"].profile[-1] == pytest.approx((1 + 0.5) / 2)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_area_is_dolan_and_mores_on_the_exponential_of_the_score(make_run, make_summary, data):
    score = st.none() | st.floats(-2, 2)
    scores = {
        policy: {task: data.draw(st.lists(score, min_size=1, max_size=3)) for task in "ab"} for policy in ("m", "n")
    }
    if not all(any(value is not None for tasks in scores.values() for value in tasks[task]) for task in "ab"):
        return
    unit = {"a": 1.5, "b": -0.5}
    scales = {task: Scale(dummy=1.0, bayes=1.0 + unit[task]) for task in "ab"}
    rows = areas_of(make_run, make_summary, scores, scales, lower={"b"})
    oracle = dolan_more_area(
        {
            policy: [[0.0 if v is None else math.exp(v / unit[task]) for v in tasks[task]] for task in "ab"]
            for policy, tasks in scores.items()
        }
    )
    for policy, area in oracle.items():
        assert rows[policy].aup == pytest.approx(area, abs=5e-4)
    shifted = {policy: {task: [v if v is None else 7 - 3 * v for v in found] for task, found in tasks.items()}
               for policy, tasks in scores.items()}  # fmt: skip
    turned = {task: Scale(dummy=7 - 3 * known.dummy, bayes=7 - 3 * known.bayes) for task, known in scales.items()}
    again = areas_of(make_run, make_summary, shifted, turned, lower={"a"})
    assert [again[name].aup for name in oracle] == pytest.approx([rows[name].aup for name in oracle])


def test_a_policy_that_was_handed_the_rule_has_no_profile_and_sets_no_best(make_run, make_summary):
    scores = {"m": {"a": [0.6]}, "n": {"a": [0.6]}, "scripted:informed": {"a": [0.9]}}
    rows = areas_of(make_run, make_summary, scores, SCALES)
    assert (rows["m"].aup, rows["n"].aup, rows["scripted:informed"].aup) == (1.0, 1.0, None)


def test_only_tasks_that_two_measured_rows_played_count(make_run, make_summary):
    """On a the gaps are 0 and .5; b was played by m alone and c, beside n, by a row that was handed the rule."""
    scores = {
        "m": {"a": [0.8], "b": [6.0]},
        "n": {"a": [0.6], "c": [0.5]},
        "o": {"d": [0.5]},
        "scripted:informed": {"c": [0.9]},
    }
    rows = areas_of(make_run, make_summary, scores, {**SCALES, "c": SCALES["a"], "d": SCALES["a"]}, lower={"b"})
    assert (rows["m"].aup, rows["n"].aup) == pytest.approx((1.0, 0.5))
    assert (rows["o"].aup, rows["o"].profile) == (None, ())


def test_a_task_that_nobody_solved_counts_for_all(make_run, make_summary):
    scores = {"m": {"a": [0.6], "b": [None]}, "n": {"a": [0.6], "b": [None]}}
    rows = areas_of(make_run, make_summary, scores, SCALES, lower={"b"})
    assert rows["m"].aup == rows["n"].aup == 0.5


def test_runs_that_know_different_scales_measure_alike(make_run, make_summary):
    rows = [make_summary("m", "a", 0, 0.4, score=0.6)], [make_summary("n", "a", 0, 0.4, score=0.8)]
    older, newer = make_run(rows[0], folder="older"), make_run(rows[1], folder="newer", scales=SCALES)
    first, second = summarize([older, newer]).rows
    assert (first.headroom.mean, second.headroom.mean) == pytest.approx((0.25, 0.75))
    assert first.aup == pytest.approx(0.5)
    (difference,) = compare(older, newer)
    assert difference.headroom.mean == pytest.approx(0.5)
    assert difference.human_rank is None


def test_the_curve_by_hand(make_run, make_summary):
    late = (Chosen(turn=1, score=0.5), Chosen(turn=3, score=0.7, medal="silver"))
    rows = [
        make_summary("m", "a", 0, 0.6, medal="silver", turns=4, history=late),
        make_summary("m", "b", 0, 0.4, turns=1, format_ok=1, history=(Chosen(turn=0, score=0.5),)),
        make_summary("m", "c", 0, 0.0, error="missing", turns=2),
        make_summary("m", "d", 0, 0.4, turns=2, history=(Chosen(turn=1, score=0.5),), thresholds=None),
        make_summary("m", "e", 0, 0.0, status="infra_error", turns=9),
    ]
    (row,) = summarize([make_run(rows)]).rows
    assert [(point.turns, point.valid) for point in row.curve] == [(1, 0.25), (2, 0.75), (3, 0.75), (4, 0.75)]
    assert [point.any_medal for point in row.curve] == pytest.approx([0, 0, 0, 1 / 3])
    assert (row.curve[-1].valid, row.curve[-1].any_medal) == (row.valid, row.any_medal)


def test_no_curve_without_histories(make_run, make_summary):
    (row,) = summarize([make_run([make_summary("m", "a", 0, 0.4)])]).rows
    assert row.curve == ()


def test_overflow_is_pruning_or_the_end_of_the_tokens(make_run, make_summary):
    rows = [
        make_summary("m", "a", 0, 0.4, pruned=3),
        make_summary("m", "b", 0, 0.4, status="token_budget"),
        make_summary("m", "c", 0, 0.4),
        make_summary("m", "d", 0, 0.4),
    ]
    assert summarize([make_run(rows)]).rows[0].overflow == 0.5
