"""Metrics of predicted orders of rows within groups, such as the results of one query.

Truth has shape (n, 2), n >= 1: relevance >= 0 and the number of the row's group. Predictions of shape (n,) order the
rows of a group, larger first. Where predictions tie, the mean over all orders of the tied rows is taken, so the order
of the file plays no part. A group without a relevant row scores 0, as in scikit-learn.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["by_group", "ndcg", "ndcgs", "ndcgs_at_5", "ndcgs_at_10", "reciprocal_rank", "reciprocal_ranks"]

RANKING: frozenset[ProblemType] = frozenset({"ranking"})


def by_group(truth: Array, prediction: Array) -> list[tuple[Array, Array]]:
    """(relevance, prediction) of each group in ascending group number, best predicted first."""
    order = np.lexsort((-prediction, truth[:, 1]))
    starts = np.flatnonzero(np.diff(truth[order, 1])) + 1
    return list(zip(np.split(truth[order, 0], starts), np.split(prediction[order], starts), strict=True))


def ndcg(relevance: Array, ranked: Array, places: int) -> float:
    """NDCG of one group sorted by prediction, in [0, 1]: gain 2^relevance - 1, discount 1 / log2(1 + place).

    Burges et al. (2005); ties as in McSherry & Najork (2008) and scikit-learn's ``ndcg_score``: tied rows share their
    mean gain.
    """
    gains = 2.0**relevance - 1.0
    weights = 1.0 / np.log2(np.arange(2.0, len(gains) + 2.0))
    weights[places:] = 0.0
    best = float(np.sort(gains)[::-1] @ weights)
    starts = np.append(0, np.flatnonzero(ranked[1:] != ranked[:-1]) + 1)
    sizes = np.diff(np.append(starts, len(gains)))
    found = float((np.add.reduceat(gains, starts) / sizes) @ np.add.reduceat(weights, starts))
    return found / best if best > 0.0 else 0.0


def ndcgs(truth: Array, prediction: Array, places: int) -> Array:
    """NDCG of each group at ``places``."""
    return np.array([ndcg(relevance, ranked, places) for relevance, ranked in by_group(truth, prediction)])


def ndcgs_at_5(truth: Array, prediction: Array) -> Array:
    """NDCG of each group at 5 places."""
    return ndcgs(truth, prediction, 5)


def ndcgs_at_10(truth: Array, prediction: Array) -> Array:
    """NDCG of each group at 10 places."""
    return ndcgs(truth, prediction, 10)


def reciprocal_rank(relevance: Array, ranked: Array) -> float:
    """1 / (place of the first row with relevance > 0) of one group sorted by prediction, in [0, 1].

    Among m tied rows of which r are relevant, the first relevant one stands at place j with chance
    C(m - j, r - 1) / C(m, r); the mean over j is taken.
    """
    relevant = relevance > 0
    if not relevant.any():
        return 0.0
    tied = np.flatnonzero(ranked == ranked[relevant.argmax()])
    size, hits = len(tied), int(relevant[tied].sum())
    passed = np.arange(size - hits + 1.0)
    later = np.cumprod(np.append(1.0, (size - hits - passed[:-1]) / (size - passed[:-1])))
    chance = later * hits / (size - passed)
    return float(chance @ (1.0 / (tied[0] + passed + 1.0)))


def reciprocal_ranks(truth: Array, prediction: Array) -> Array:
    """Reciprocal rank of each group."""
    return np.array([reciprocal_rank(relevance, ranked) for relevance, ranked in by_group(truth, prediction)])


register(
    Metric(
        name="mean_reciprocal_rank",
        title="Mean reciprocal rank",
        lower_is_better=False,
        prediction="relevance",
        problem_types=RANKING,
        note="A group counts one over the place of its first row with a relevance above 0, once the rows are sorted by"
        " the prediction, the largest first; the score is the mean over groups, between 0 and 1. Ties count the mean"
        " over their orders, and a group without a relevant row counts 0.",
        units=reciprocal_ranks,
        parts=(by_group, reciprocal_rank),
    )
)
for _places, _units in ((5, ndcgs_at_5), (10, ndcgs_at_10)):
    register(
        Metric(
            name=f"ndcg_at_{_places}",
            title=f"Normalized discounted cumulative gain at {_places}",
            lower_is_better=False,
            prediction="relevance",
            problem_types=RANKING,
            note="Within a group the rows are sorted by the prediction, the largest first. A row gains two to the power"
            " of its relevance, minus one, divided by the binary logarithm of one plus its place; the gain of the first"
            f" {_places} rows is divided by that of the ideal order and averaged over groups, so that it lies between"
            " 0 and 1. Tied rows share their mean gain, and a group without a relevant row counts 0.",
            units=_units,
            parts=(by_group, ndcg, ndcgs),
        )
    )
