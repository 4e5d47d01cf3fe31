from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error, ndcg_score

from sandmle.eval.acceptance._bootstrap import resampled_scores
from sandmle.eval.metrics import get_metric


def _draws(n, resamples):
    rng = np.random.default_rng(9)
    return [rng.integers(n, size=n) for _ in range(resamples)]


@pytest.mark.parametrize(
    ("metric", "oracle"), [("mae", mean_absolute_error), ("rmse", lambda t, p: mean_squared_error(t, p) ** 0.5)]
)
def test_counts_times_units_equal_scores_of_drawn_rows(make_kind, metric, oracle):
    evidence = replace(make_kind(0, "number", n_test=200), metric=get_metric(metric))
    run, keep = evidence.predictions["linear"][0], evidence.private
    observed, drawn = resampled_scores(evidence, [run], 20, np.random.default_rng(9))
    truth, run = evidence.truth[keep], run[keep]
    assert observed == pytest.approx([oracle(truth, run)])
    assert drawn[:, 0] == pytest.approx([oracle(truth[rows], run[rows]) for rows in _draws(len(truth), 20)])


@pytest.mark.parametrize("whole", [False, True])
def test_rankings_resample_whole_groups(make_kind, whole):
    evidence = make_kind(0, "relevance", n_test=200)
    if whole:  # the same metric as one that is no mean of units
        rows = replace(evidence.metric, whole=evidence.metric.score, units=None)
        evidence = replace(evidence, metric=rows)
    run, keep = evidence.predictions["linear"][0], evidence.private
    _, drawn = resampled_scores(evidence, [run], 20, np.random.default_rng(9))
    gain, group = evidence.truth[keep].T
    parts = [ndcg_score([2 ** gain[group == g] - 1], [run[keep][group == g]], k=5) for g in np.unique(group)]
    assert drawn[:, 0] == pytest.approx([np.mean([parts[g] for g in units]) for units in _draws(len(parts), 20)])


def test_five_hundred_resamples_of_two_thousand_rows_are_cheap(make_kind):
    evidence = make_kind(0, "class_probabilities", n_test=2000)
    started = time.process_time()
    runs = [run for rung in evidence.predictions.values() for run in rung]
    _, drawn = resampled_scores(evidence, runs, 500, np.random.default_rng(0))
    assert drawn.shape == (500, 9)
    assert time.process_time() - started < 0.5
