"""Correlations, quantile losses and rankings against scipy, scikit-learn, or the definition in a naive loop."""

import itertools
import time
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from sandmle.eval.metrics import get_metric

checked = settings(deadline=None, max_examples=40)
SEED, ROWS = st.integers(0, 2**32 - 1), st.integers(1, 40)


def score(name, truth, prediction):
    return get_metric(name).score(truth, prediction)


@checked
@given(SEED, ROWS)
def test_quantiles_medians_and_percentages(seed, n):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.normal(size=n) * 100, rng.normal(size=n) * 100
    for percent in (10, 50, 90):
        expected = sk.mean_pinball_loss(truth, prediction, alpha=percent / 100)
        assert score(f"pinball_{percent}", truth, prediction) == pytest.approx(expected, rel=1e-9)
    expected = sk.median_absolute_error(truth, prediction)
    assert score("median_absolute_error", truth, prediction) == pytest.approx(expected)
    terms = [((t - p) / t) ** 2 for t, p in zip(truth, prediction, strict=True)]
    assert score("rmspe", truth, prediction) == pytest.approx(mean(terms) ** 0.5)


def test_the_least_pinball_loss_is_at_the_quantile():
    truth = np.random.default_rng(0).normal(size=2001)
    guesses = np.linspace(-2, 2, 401)
    for percent in (10, 50, 90):
        losses = [score(f"pinball_{percent}", truth, np.full(2001, guess)) for guess in guesses]
        assert guesses[np.argmin(losses)] == pytest.approx(np.quantile(truth, percent / 100), abs=0.02)


@checked
@given(SEED, st.integers(2, 60), st.integers(2, 30))
def test_correlations_with_ties(seed, n, levels):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, levels, (2, n)).astype(float)
    truth[:2], prediction[:2] = (0.0, 1.0), (1.0, 0.0)
    assert score("pearson", truth, prediction) == pytest.approx(stats.pearsonr(truth, prediction)[0], abs=1e-12)
    assert score("spearman", truth, prediction) == pytest.approx(stats.spearmanr(truth, prediction)[0], abs=1e-12)


@checked
@given(SEED, st.integers(2, 40), st.integers(2, 30))
def test_concordance_counts_every_pair(seed, n, levels):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, levels, (2, n)).astype(float)
    truth[:2] = 0.0, 1.0
    pairs = [pair for pair in itertools.permutations(range(n), 2) if truth[pair[0]] < truth[pair[1]]]
    alike = [0.5 * float(prediction[i] <= prediction[j]) + 0.5 * float(prediction[i] < prediction[j]) for i, j in pairs]
    assert score("concordance", truth, prediction) == pytest.approx(mean(alike), abs=1e-12)


def test_a_constant_prediction_has_no_association():
    truth, constant = np.arange(5.0), np.full(5, 3.0)
    assert [score(name, truth, constant) for name in ("pearson", "spearman", "concordance")] == [0.0, 0.0, 0.5]


def test_correlations_of_huge_and_tiny_numbers():
    truth = np.array([1.0, 2.0, 3.0, 5.0])
    for scale in (1e-300, 1.0, 1e300):
        assert score("pearson", truth, truth * scale) == pytest.approx(1.0, abs=1e-12)


def test_concordance_of_many_rows_is_quick():
    rng = np.random.default_rng(0)
    truth, prediction = rng.normal(size=(2, 50_000))
    started = time.process_time()
    found = score("concordance", truth, prediction)
    assert time.process_time() - started < 2
    assert found == pytest.approx(0.5 + 0.5 * stats.kendalltau(truth, prediction)[0], abs=1e-9)


def test_mean_average_precision():
    truth = np.array([2.0, 0, 1, 4])
    ranked = np.array([[2.0, 0, 1, 3, 4], [1, 2, 0, -1, -1], [0, -1, -1, -1, -1], [0, 1, 2, 3, 4]])
    assert score("map_at_3", truth, ranked) == pytest.approx((1 + 1 / 3 + 0 + 0) / 4)
    assert score("map_at_5", truth, ranked) == pytest.approx((1 + 1 / 3 + 0 + 1 / 5) / 4)
    assert score("map_at_5", truth, ranked[:, :2]) == pytest.approx(1 / 4)


def grouped(seed, n, groups, levels):
    rng = np.random.default_rng(seed)
    truth = np.column_stack([rng.integers(0, 4, n), rng.integers(0, groups, n)]).astype(float)
    return truth, rng.integers(0, levels, n).astype(float)


@checked
@given(SEED, st.integers(2, 60), st.integers(1, 5), st.integers(1, 30), st.sampled_from([5, 10]))
def test_ndcg_with_ties(seed, n, groups, levels, places):
    truth, prediction = grouped(seed, n, groups, levels)
    expected = []
    for group in sorted(set(truth[:, 1])):
        rows = truth[:, 1] == group
        gains = 2.0 ** truth[rows, 0] - 1
        if len(gains) == 1:
            expected.append(float(gains[0] > 0))
        else:
            expected.append(sk.ndcg_score([gains], [prediction[rows]], k=places))
    assert score(f"ndcg_at_{places}", truth, prediction) == pytest.approx(mean(expected), abs=1e-12)


@checked
@given(SEED, st.integers(1, 6), st.integers(1, 3))
def test_reciprocal_rank_is_the_mean_over_the_orders_of_ties(seed, n, levels):
    truth, prediction = grouped(seed, n, 1, levels)
    ranks = []
    for order in itertools.permutations(range(n)):
        if all(prediction[i] >= prediction[j] for i, j in itertools.pairwise(order)):
            place = next((place for place, row in enumerate(order, 1) if truth[row, 0] > 0), None)
            ranks.append(1 / place if place else 0.0)
    assert score("mean_reciprocal_rank", truth, prediction) == pytest.approx(mean(ranks), abs=1e-12)


def test_the_order_of_rows_and_the_numbers_of_groups_do_not_matter():
    truth, prediction = grouped(3, 80, 7, 5)
    order = np.random.default_rng(0).permutation(80)
    renamed = truth * [1, 1000]
    for name in ("ndcg_at_5", "ndcg_at_10", "mean_reciprocal_rank"):
        expected = score(name, truth, prediction)
        assert score(name, truth[order], prediction[order]) == pytest.approx(expected, abs=1e-12)
        assert score(name, renamed, prediction) == expected


def test_hand_computed_ndcg():
    truth = np.array([[3.0, 0], [0, 0], [1, 0], [0, 1]])
    found = get_metric("ndcg_at_5").units(truth, np.array([0.2, 0.9, 0.5, 0.1]))
    assert found[0] == pytest.approx((1 / np.log2(3) + 7 / 2) / (7 + 1 / np.log2(3)))
    assert found[1] == 0.0
