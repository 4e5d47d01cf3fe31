"""Metrics of predicted numbers that look at their association with the truth and not at their units.

Truth and prediction have shape (n,), n >= 1. A constant prediction has no association: correlations are 0 and the
concordance index is 0.5, so that a constant baseline has a score.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register
from sandmle.task import ProblemType

__all__ = ["average_ranks", "concordance", "count_rises", "count_ties", "pearson", "spearman"]

NUMBERS: frozenset[ProblemType] = frozenset({"regression", "forecasting"})


def pearson(truth: Array, prediction: Array) -> float:
    """Linear correlation, in [-1, 1]; 0 where the prediction is constant.

    Raises:
        MetricUndefined: the truth is constant.
    """
    if truth.min() == truth.max():
        raise MetricUndefined("correlation: the true values are all the same")
    if prediction.min() == prediction.max():
        return 0.0
    x = truth / np.abs(truth).max()
    y = prediction / np.abs(prediction).max()
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt(x @ x) * np.sqrt(y @ y))
    return float(np.clip(x @ y / scale, -1.0, 1.0)) if scale > 0.0 else 0.0


def average_ranks(values: Array) -> Array:
    """1-based ranks; equal values share the mean of their ranks."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    return np.asarray((ends - 0.5 * (sizes - 1.0))[group])


def spearman(truth: Array, prediction: Array) -> float:
    """Linear correlation of the average ranks, in [-1, 1]; 0 where the prediction is constant.

    Raises:
        MetricUndefined: the truth is constant.
    """
    return pearson(average_ranks(truth), average_ranks(prediction))


def count_rises(values: Array) -> float:
    """Number of pairs i < j with values[i] < values[j].

    Merge sort from the bottom up, all blocks of one level in one call: O(n log^2 n).
    """
    ranks = np.unique(values, return_inverse=True)[1]
    places = np.arange(len(ranks))
    rises, width = 0, 1
    while width < len(ranks):
        block = places // (2 * width)
        keys = block * len(ranks) + ranks
        right = places // width % 2 == 1
        left_keys = np.sort(keys[~right])
        before = np.searchsorted(left_keys, block[right] * len(ranks))
        rises += int(np.sum(np.searchsorted(left_keys, keys[right]) - before))
        width *= 2
    return float(rises)


def count_ties(values: Array) -> float:
    """Number of pairs of equal rows."""
    sizes = np.unique(values, axis=0, return_counts=True)[1].astype(np.float64)
    return float(np.sum(sizes * (sizes - 1.0)) / 2.0)


def concordance(truth: Array, prediction: Array) -> float:
    """Share of the pairs of different truth that the prediction orders alike, ties of prediction half, in [0, 1].

    Harrell's C index (1982) without censoring.

    Raises:
        MetricUndefined: the truth is constant.
    """
    pairs = len(truth) * (len(truth) - 1.0) / 2.0 - count_ties(truth)
    if pairs == 0.0:
        raise MetricUndefined("concordance: the true values are all the same")
    falling_within_ties = np.lexsort((-prediction, truth))
    alike = count_rises(prediction[falling_within_ties])
    tied = count_ties(prediction) - count_ties(np.column_stack([truth, prediction]))
    return float((alike + 0.5 * tied) / pairs)


register(
    Metric(
        name="concordance",
        title="Concordance index",
        lower_is_better=False,
        prediction="number",
        problem_types=NUMBERS,
        note="Of all pairs of rows whose true values differ it is the share that the predictions put in the same order,"
        " ties of the predictions counting half: 1 is the perfect order, 0.5 a random or constant one, 0 the reverse."
        " Only the order of the predictions matters.",
        whole=concordance,
        parts=(count_rises, count_ties),
    )
)
register(
    Metric(
        name="pearson",
        title="Pearson correlation",
        lower_is_better=False,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the linear correlation of predicted and true values, between -1 and 1; it is 0 for a constant"
        " prediction and does not depend on the scale of the predictions.",
        whole=pearson,
    )
)
register(
    Metric(
        name="spearman",
        title="Spearman rank correlation",
        lower_is_better=False,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the linear correlation of the ranks of predicted and true values, equal values sharing their mean"
        " rank; it lies between -1 and 1 and is 0 for a constant prediction. Only the predictions' order matters.",
        whole=spearman,
        parts=(pearson, average_ranks),
    )
)
