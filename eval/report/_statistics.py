"""The few statistics of a report: clustered bootstrap, paired difference, mean and SEM over repeats.

Every function is deterministic: the resamples come from a fixed seed, and inputs are taken in the order given, which
callers sort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.report._record import Estimate, RepeatStats

__all__ = ["clustered_mean", "over_repeats", "paired_difference"]

RESAMPLES = 2000
LEVEL = 0.95
_SEED = 20_260_404

Groups = Mapping[str, Sequence[float]]


def clustered_mean(values: Groups) -> Estimate | None:
    """Mean of all values with a percentile bootstrap that resamples clusters.

    A resample's mean weighs every value alike: the sum over the drawn clusters divided by how many values they hold.

    Args:
        values: the values of each cluster (task). Empty clusters are dropped.

    Returns:
        None where there is no value.
    """
    kept = [np.asarray(values[name], dtype=np.float64) for name in sorted(values) if len(values[name])]
    if not kept:
        return None
    sums = np.array([cluster.sum() for cluster in kept])
    counts = np.array([cluster.size for cluster in kept], dtype=np.float64)
    draws = _weights(len(kept))
    return _estimate(float(sums.sum() / counts.sum()), (draws @ sums) / (draws @ counts), len(kept))


def paired_difference(ours: Groups, theirs: Groups) -> tuple[Estimate, int] | None:
    """Mean over the shared clusters of (mean of ours - mean of theirs), with its interval, and how many are shared.

    Returns:
        None where no cluster has values on both sides.
    """
    shared = [name for name in sorted(ours.keys() & theirs.keys()) if len(ours[name]) and len(theirs[name])]
    if not shared:
        return None
    gaps = np.array([np.mean(ours[name]) - np.mean(theirs[name]) for name in shared])
    resampled = (_weights(len(shared)) @ gaps) / len(shared)
    return _estimate(float(gaps.mean()), resampled, len(shared)), len(shared)


def over_repeats(values: Mapping[int, Sequence[float]]) -> RepeatStats | None:
    """Mean over repeats of each repeat's mean, and its standard error: sample deviation (ddof 1) / sqrt(repeats)."""
    means = np.array([np.mean(values[repeat]) for repeat in sorted(values) if len(values[repeat])])
    if not means.size:
        return None
    sem = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else None
    return RepeatStats(repeats=means.size, mean=float(means.mean()), sem=sem)


def _weights(clusters: int) -> NDArray[np.float64]:
    """How often each cluster is drawn in each resample; shape (RESAMPLES, clusters)."""
    rng = np.random.default_rng(_SEED)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES).astype(np.float64)


def _estimate(mean: float, resampled: NDArray[np.float64], clusters: int) -> Estimate:
    if clusters < 2:
        return Estimate(mean=mean, low=None, high=None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Estimate(mean=mean, low=float(low), high=float(high))
