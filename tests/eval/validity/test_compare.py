"""Standings and their correlations, against direct computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata, spearmanr

from sandmle.eval.validity import Arm, TaskScores, compare, self_consistency

NAMES = ("a", "b", "c", "d", "e")


def scored(name: str, scores: dict[str, float | None], *, lower: bool = False) -> TaskScores:
    return TaskScores(
        task_id=name,
        content_hash="",
        script_hash="",
        n_train=200,
        metric="m",
        lower_is_better=lower,
        scores=scores,
        cpu_s={},
    )


def arm(rows: list[list[float | None]], *, lower: bool = False) -> Arm:
    tasks = (scored(str(index), dict(zip(NAMES, row, strict=True)), lower=lower) for index, row in enumerate(rows))
    return Arm(tuple(tasks))


def direct_rank(scores: list[float], own: int) -> float:
    """How many others are worse, ties counting half, over how many others there are."""
    worse = sum(score < scores[own] for score in scores)
    same = sum(score == scores[own] for score in scores) - 1
    return (worse + same / 2) / (len(scores) - 1)


TABLES = st.lists(st.lists(st.integers(0, 6).map(float), min_size=5, max_size=5), min_size=2, max_size=5)


@settings(max_examples=40, deadline=None)
@given(TABLES, TABLES, st.booleans())
def test_correlations_are_those_of_a_direct_count(first, second, lower):
    found = compare("x", arm(first), arm(second, lower=lower), NAMES)
    sign = -1 if lower else 1
    one = [float(np.mean([direct_rank(row, own) for row in first])) for own in range(5)]
    two = [float(np.mean([direct_rank([sign * each for each in row], own) for row in second])) for own in range(5)]
    assert [found.standings[name] for name in NAMES] == [
        (pytest.approx(a, abs=1e-4), pytest.approx(b, abs=1e-4)) for a, b in zip(one, two, strict=True)
    ]
    one, two = ([round(value, 9) for value in values] for values in (one, two))
    if len(set(one)) > 1 and len(set(two)) > 1:
        assert found.spearman.value == pytest.approx(spearmanr(one, two).statistic, abs=1e-9)
        assert found.kendall.value == pytest.approx(kendalltau(one, two).statistic, abs=1e-9)


def test_scale_and_direction_of_a_metric_count_for_nothing():
    rows = [[1.0, 2.0, 3.0, 5.0, 8.0], [2.0, 1.0, 3.0, 8.0, 5.0], [1.0, 3.0, 2.0, 5.0, 8.0]]
    losses = [[np.exp(-score) for score in row] for row in rows]
    found = compare("x", arm(rows), arm(losses, lower=True), NAMES)
    assert (found.spearman.value, found.kendall.value) == (pytest.approx(1.0), pytest.approx(1.0))
    assert all(one == two for one, two in found.standings.values())


def test_a_failed_run_ranks_below_all_others():
    found = compare("x", arm([[None, 0.1, 0.2, 0.3, 0.4]]), arm([[None, 9.0, 5.0, 3.0, 1.0]], lower=True), NAMES)
    assert found.standings["a"] == (0.0, 0.0)
    assert (found.spearman.over_tasks, found.kendall.over_tasks) == (None, None)  # one task has none


def test_the_interval_covers_the_truth_as_often_as_it_says():
    draw = np.random.default_rng(0)
    quality = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    covered, wide = 0, []
    for _ in range(40):
        arms = [arm((quality + draw.normal(scale=3.0, size=(10, 5))).tolist()) for _ in range(2)]
        interval = compare("x", *arms, NAMES).spearman.over_tasks
        covered += interval.low <= 1.0 <= interval.high + 1e-9
        wide.append(interval.high - interval.low)
    assert covered >= 34
    assert 0.05 < np.mean(wide) < 1.0


@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_is_that_of_a_bootstrap_written_out(paired):
    draw = np.random.default_rng(1)
    rows = [draw.normal(size=(8, 5)) for _ in range(2)]
    found = compare("x", arm(rows[0].tolist()), arm(rows[1].tolist()), NAMES, paired=paired).spearman
    one, two = ((rankdata(table, axis=1) - 1) / 4 for table in rows)
    drawn, other = np.random.default_rng(5), []
    for _ in range(800):
        first = drawn.integers(8, size=8)
        second = first if paired else drawn.integers(8, size=8)
        other.append(spearmanr(one[first].mean(axis=0).round(9), two[second].mean(axis=0).round(9)).statistic)
    low, high = np.nanpercentile(other, [97.5, 2.5])
    assert found.over_tasks.low == pytest.approx(max(2 * found.value - low, -1), abs=0.1)
    assert found.over_tasks.high == pytest.approx(min(2 * found.value - high, 1), abs=0.1)


def test_the_interval_over_pipelines_is_that_of_a_bootstrap_written_out():
    draw = np.random.default_rng(2)
    names = tuple(f"p{index}" for index in range(12))
    quality = np.arange(12) + draw.normal(scale=3.0, size=(2, 12))
    arms = [Arm((scored("t", dict(zip(names, row, strict=True))),)) for row in quality.tolist()]
    found = compare("x", *arms, names)
    drawn = [draw.integers(12, size=12) for _ in range(800)]
    for estimate, statistic in ((found.spearman, spearmanr), (found.kendall, kendalltau)):
        values = [statistic(quality[0][chosen], quality[1][chosen]).statistic for chosen in drawn]
        low, high = np.percentile(values, [2.5, 97.5])
        assert estimate.over_pipelines.low == pytest.approx(low, abs=0.08)
        assert estimate.over_pipelines.high == pytest.approx(high, abs=0.08)
        assert low < estimate.value < high


def test_halves_of_tasks_that_agree_agree():
    alike = arm([[0.0, 1.0, 2.0, 3.0, 4.0]] * 6)
    assert self_consistency(alike, NAMES).mean == pytest.approx(1.0)
    assert self_consistency(arm([[0.0, 1.0, 2.0, 3.0, 4.0]] * 3), NAMES) is None
