"""From scores to standings, and from two arms' standings to rank correlations with intervals.

Scores of different metrics don't compare, ranks do. With P pipelines, r(p, t) the rank of pipeline p's score on task t
(1 the worst; ties share their mean rank; a failed run ranks below all others), over the T tasks of an arm:

    standing(p) = mean over t of (r(p, t) - 1) / (P - 1)

Two arms are compared by Spearman's rho and Kendall's tau-b of their standings over the pipelines. Two intervals tell
what else could have come out (A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, 1997, ch. 5):

*Over tasks*: what is estimated is the correlation of the standings over infinitely many such tasks. Noise in the
standings pulls an estimate towards 0, and a resample's further, so the interval is the basic bootstrap's: the estimate
less the 97.5 % and the 2.5 % quantile of how far resamples lie from it, held to [-1, 1]. A resample draws whole tasks
with replacement: of each arm by itself, or, where both arms hold the same rules, of the rules.

*Over pipelines*: a resample draws pipelines with replacement, each with its two standings; the interval is the middle
95 % of the resamples' correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sandmle.eval.validity._record import Ceiling, Comparison, Estimate, Range, TaskScores

__all__ = ["Arm", "compare", "correlations", "self_consistency"]

RESAMPLES = 2000
HALVES = 500
SEED = 20_260_404
TAIL = 2.5
MIN_TASKS = 2
SAME = 1e-9
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """The scores of one set of tasks."""

    tasks: tuple[TaskScores, ...]

    def ranks(self, pipelines: Sequence[str]) -> Array:
        """r(p, t) from 0 to 1, shape (tasks, pipelines)."""
        return np.array([_ranks(task, pipelines) for task in self.tasks])


def _ranks(task: TaskScores, pipelines: Sequence[str]) -> Array:
    sign = -1.0 if task.lower_is_better else 1.0
    scores = [task.scores.get(name) for name in pipelines]
    better = [-np.inf if score is None else sign * score for score in scores]
    return np.asarray((rankdata(better) - 1) / (len(pipelines) - 1), dtype=np.float64)


def compare(name: str, first: Arm, second: Arm, pipelines: Sequence[str], *, paired: bool = False) -> Comparison:
    """Compare two arms.

    Args:
        name: what is compared.
        first: one arm; each arm has at least one task.
        second: the other.
        pipelines: at least three.
        paired: the arms hold the same rules in the same order.
    """
    ranks = first.ranks(pipelines), second.ranks(pipelines)
    standings = ranks[0].mean(axis=0), ranks[1].mean(axis=0)
    found = correlations(standings[0][None], standings[1][None])
    over_tasks, over_pipelines = _over_tasks(*ranks, paired=paired), _over_pipelines(*standings)
    rho, tau = (
        Estimate(
            value=float(value[0]),
            over_tasks=_basic(float(value[0]), by_task) if min(map(len, ranks)) >= MIN_TASKS else None,
            over_pipelines=_middle(by_pipeline),
        )
        for value, by_task, by_pipeline in zip(found, over_tasks, over_pipelines, strict=True)
    )
    return Comparison(
        name=name,
        first=len(first.tasks),
        second=len(second.tasks),
        pipelines=tuple(pipelines),
        spearman=rho,
        kendall=tau,
        standings={
            name: (round(float(a), 4), round(float(b), 4)) for name, a, b in zip(pipelines, *standings, strict=True)
        },
    )


def _over_tasks(one: Array, two: Array, *, paired: bool) -> tuple[Array, Array]:
    """The correlations of resamples of tasks, from ranks of shape (tasks, pipelines)."""
    draw = np.random.default_rng(SEED)
    rows = draw.integers(len(one), size=(RESAMPLES, len(one)))
    others = rows if paired else draw.integers(len(two), size=(RESAMPLES, len(two)))
    return correlations(one[rows].mean(axis=1), two[others].mean(axis=1))


def _over_pipelines(one: Array, two: Array) -> tuple[Array, Array]:
    """The correlations of resamples of pipelines, from standings of shape (pipelines,)."""
    chosen = np.random.default_rng(SEED).integers(len(one), size=(RESAMPLES, len(one)))
    return correlations(one[chosen], two[chosen])


def self_consistency(arm: Arm, pipelines: Sequence[str]) -> Ceiling | None:
    """How well a random half of an arm's tasks predicts the other: the ceiling for whatever is compared with it."""
    ranks, draw = arm.ranks(pipelines), np.random.default_rng(SEED)
    if len(ranks) < 2 * MIN_TASKS:
        return None
    half = len(ranks) // 2
    orders = draw.permuted(np.tile(np.arange(len(ranks)), (HALVES, 1)), axis=1)
    halves = (ranks[orders[:, start : start + half]].mean(axis=1) for start in (0, half))
    found, _ = correlations(*halves)
    return Ceiling(mean=float(found.mean()), over_halves=_middle(found))


def correlations(first: Array, second: Array) -> tuple[Array, Array]:
    """Spearman's rho and Kendall's tau-b of each pair of rows, both of shape (n, pipelines); 0 where a row is constant.

    Differences below ``SAME`` count as ties, so that means of ranks tie whatever the order of summation.
    """
    signs = [np.sign(np.where(np.abs(gap) < SAME, 0.0, gap)) for gap in map(_gaps, (first, second))]
    # A value's rank, less the middle rank, is half the sum of its signs against the others.
    ranks = [sign.sum(axis=2) for sign in signs]
    return _cosine(*ranks), _cosine(*(sign.reshape(len(sign), -1) for sign in signs))


def _gaps(values: Array) -> Array:
    return values[:, :, None] - values[:, None, :]


def _cosine(one: Array, two: Array) -> Array:
    """The cosine of each pair of rows, which sum to 0."""
    size = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    return np.asarray((one * two).sum(axis=1) / np.where(size > 0, size, 1.0), dtype=np.float64)


def _basic(value: float, drawn: Array) -> Range:
    """The basic bootstrap's interval."""
    low, high = np.clip(2 * value - np.percentile(drawn, [100 - TAIL, TAIL]), -1.0, 1.0)
    return Range(low=float(low), high=float(high))


def _middle(drawn: Array) -> Range:
    low, high = np.percentile(drawn, [TAIL, 100 - TAIL])
    return Range(low=float(low), high=float(high))
