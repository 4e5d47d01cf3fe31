"""The statistics against hand-computed cases and an independent, loop-by-loop bootstrap."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.eval.report._statistics import clustered_mean, over_repeats, paired_difference

REWARDS = st.floats(0, 1)
GROUPS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.lists(REWARDS, max_size=4), max_size=8)


def plain_bootstrap(groups, resamples=4000, seed=5):
    """Percentile interval of the mean, one resample after the other, in pure Python."""
    rng, clusters, means = random.Random(seed), list(groups.values()), []
    for _ in range(resamples):
        values = [value for _ in clusters for value in rng.choice(clusters)]
        means.append(statistics.fmean(values))
    cuts = statistics.quantiles(means, n=40, method="inclusive")
    return cuts[0], cuts[-1]


def test_the_interval_agrees_with_an_independent_bootstrap():
    rng = random.Random(1)
    groups = {
        f"t{task}": [min(1, max(0, rng.gauss(0.2 + task / 20, 0.2))) for _ in range(1 + task % 3)] for task in range(12)
    }
    estimate = clustered_mean(groups)
    low, high = plain_bootstrap(groups)
    assert estimate.mean == pytest.approx(statistics.fmean(value for values in groups.values() for value in values))
    assert estimate.low == pytest.approx(low, abs=0.012)
    assert estimate.high == pytest.approx(high, abs=0.012)


def test_repeats_of_one_task_do_not_narrow_the_interval():
    once = clustered_mean({"a": [0.0], "b": [0.4], "c": [1.0]})
    often = clustered_mean({"a": [0.0] * 50, "b": [0.4] * 50, "c": [1.0] * 50})
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_two_tasks_by_hand():
    """Resamples of two tasks have means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4: the interval is all of [0, 1]."""
    estimate = clustered_mean({"a": [0.0], "b": [1.0]})
    assert (estimate.mean, estimate.low, estimate.high) == (0.5, 0.0, 1.0)


def test_one_task_has_no_interval_and_none_has_no_mean():
    assert clustered_mean({"a": [0.2, 0.4]}).low is None
    assert clustered_mean({"a": [0.2, 0.4]}).mean == pytest.approx(0.3)
    assert clustered_mean({"a": []}) is None
    assert clustered_mean({}) is None


@given(GROUPS)
def test_the_interval_holds_the_mean_s_range_and_ignores_the_order_of_tasks(groups):
    estimate = clustered_mean(groups)
    values = [value for group in groups.values() for value in group]
    if not values:
        assert estimate is None
        return
    assert estimate == clustered_mean(dict(reversed(groups.items())))
    if estimate.low is not None:
        assert min(values) - 1e-12 <= estimate.low <= estimate.high <= max(values) + 1e-12


def test_the_paired_difference_by_hand():
    """Task means: a .5 - .2 = .3, b 1 - .6 = .4; c and d stand on one side only."""
    ours = {"a": [0.4, 0.6], "b": [1.0], "c": [1.0]}
    theirs = {"a": [0.2], "b": [0.6], "d": [0.0]}
    estimate, tasks = paired_difference(ours, theirs)
    assert tasks == 2
    assert estimate.mean == pytest.approx(0.35)
    assert (estimate.low, estimate.high) == pytest.approx((0.3, 0.4))


def test_a_constant_shift_has_no_spread_however_the_tasks_differ():
    theirs = {f"t{task}": [task / 20] for task in range(10)}
    ours = {name: [value + 0.1 for value in values] for name, values in theirs.items()}
    estimate, _ = paired_difference(ours, theirs)
    assert (estimate.low, estimate.high) == pytest.approx((0.1, 0.1))


def test_no_shared_task_has_no_difference():
    assert paired_difference({"a": [1.0]}, {"b": [1.0]}) is None


def test_the_standard_error_over_repeats_by_hand():
    """Repeat means .2, .4, .9: mean .5, sample variance (.09 + .01 + .16) / 2 = .13, SEM sqrt(.13 / 3)."""
    stats = over_repeats({0: [0.1, 0.3], 1: [0.4], 2: [0.9, 0.9]})
    assert stats.repeats == 3
    assert stats.mean == pytest.approx(0.5)
    assert stats.sem == pytest.approx(math.sqrt(0.13 / 3))
    assert over_repeats({0: [0.5]}).sem is None
    assert over_repeats({}) is None
