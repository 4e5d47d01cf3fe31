"""Resampled scores: what the ladder would have scored on another draw of the hidden rows.

Where a metric is a function of a mean over units (rows, or whole groups), a resample only weighs the values of the
units, so all resamples are one matrix product; any other metric is computed anew on the drawn rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.metrics import Array, MetricUndefined, Values

__all__ = ["resampled_scores"]

Draws = NDArray[np.int64]


def resampled_scores(
    evidence: Evidence, runs: Sequence[Values], resamples: int, draw: np.random.Generator
) -> tuple[Array, Array]:
    """Scores of several predictions on the same resampled units of the Private rows.

    Args:
        evidence: the task; a unit is a row, or a group of rows that are ranked together.
        runs: predictions, aligned to all test rows.
        resamples: how many draws with replacement.
        draw: their generator.

    Returns:
        Observed scores, shape (runs,), and those of every resample on which the metric is defined, shape
        (at most resamples, runs), in the metric's own units.

    Raises:
        MetricUndefined: the metric has no value on the Private rows.
    """
    truth = evidence.truth[evidence.private]
    kept = [run[evidence.private] for run in runs]
    observed = np.array([evidence.metric.score(truth, run) for run in kept])
    if evidence.metric.units is not None:
        values = np.column_stack([evidence.metric.units(truth, run) for run in kept])
        n = len(values)
        counts = np.array([np.bincount(draw.integers(n, size=n), minlength=n) for _ in range(resamples)])
        totals = counts.astype(np.float64) @ _weights(evidence, truth, kept, n)
        sums = (counts.astype(np.float64) @ values)[(totals > 0).all(axis=1)]
        means = sums / totals[(totals > 0).all(axis=1)]
        return observed, np.array([[evidence.metric.finish(mean) for mean in row] for row in means])
    members = _members(truth, evidence)
    drawn = []
    for _ in range(resamples):
        chosen = draw.integers(len(members), size=len(members))
        rows = np.concatenate([members[unit] for unit in chosen])
        again = truth[rows]
        if evidence.kind == "relevance":
            again[:, 1] = np.repeat(np.arange(len(chosen)), [len(members[unit]) for unit in chosen])
        try:
            drawn.append([evidence.metric.score(again, run[rows]) for run in kept])
        except MetricUndefined:
            continue
    return observed, np.array(drawn).reshape(len(drawn), len(kept))


def _weights(evidence: Evidence, truth: Values, runs: Sequence[Values], n: int) -> Array:
    """What each unit counts in the mean of every run, shape (n, runs)."""
    weigh = evidence.metric.weights
    return np.ones((n, len(runs))) if weigh is None else np.column_stack([weigh(truth, run) for run in runs])


def _members(truth: Values, evidence: Evidence) -> list[Draws]:
    """The rows of each unit."""
    if evidence.kind != "relevance":
        return list(np.arange(len(truth))[:, None])
    order = np.argsort(truth[:, 1], kind="stable")
    ends = np.flatnonzero(np.diff(truth[order, 1])) + 1
    return [rows.astype(np.int64) for rows in np.split(order, ends)]
