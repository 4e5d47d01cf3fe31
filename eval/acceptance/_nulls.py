"""Statistics with a permutation null: what would be seen if nothing leaked.

Every test keeps the data and redraws only what a clean task makes exchangeable: labels over rows, the split over rows,
or the signs of Bayes residuals. A test alarms where the observed statistic exceeds every draw of its null and lies more
than five null standard deviations above their mean, so that the whole audit stays below 2 % false alarms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._columns import standardise
from sandmle.eval.acceptance._criteria import MIN_PERMUTATIONS
from sandmle.eval.metrics import Array

__all__ = ["LeakTest", "association", "duplicates", "one_hot", "place_features", "residual_association", "shift"]

NULL_DRAWS = 200
Z_ALARM = 5.0
WAVES = 4


@dataclass(frozen=True)
class LeakTest:
    """One statistic with draws of its null; larger means more of a leak.

    Attributes:
        null: at least ``MIN_PERMUTATIONS`` draws.
        floor: the smallest null standard deviation that is believed.
    """

    observed: float
    null: Array
    floor: float = 1e-12

    def __post_init__(self) -> None:
        if len(self.null) < MIN_PERMUTATIONS:
            raise ValueError(f"a null needs {MIN_PERMUTATIONS} draws or more, not {len(self.null)}")

    @property
    def z(self) -> float:
        """Null standard deviations above the null's mean."""
        return float((self.observed - self.null.mean()) / max(float(self.null.std(ddof=1)), self.floor))

    @property
    def p(self) -> float:
        """Permutation p-value, at least 1 / (draws + 1)."""
        return float((1 + np.sum(self.null >= self.observed)) / (1 + len(self.null)))

    @property
    def alarm(self) -> bool:
        """Whether this can't be chance."""
        return self.z > Z_ALARM and self.observed > float(self.null.max())


def one_hot(codes: Array | NDArray[np.int64]) -> Array:
    """0/1 columns, one per value that occurs."""
    return np.asarray(codes[:, None] == np.unique(codes), dtype=np.float64)


def place_features(n: int) -> Array:
    """What a row's place could give away: four cosine waves and the parity of the row number, shape (n, 5)."""
    place = (np.arange(n) + 0.5) / n
    waves = [np.cos(np.pi * k * place) for k in range(1, WAVES + 1)]
    return np.column_stack([*waves, np.arange(n) % 2])


def association(
    features: Array, outcome: Array, groups: NDArray[np.bool_], draw: np.random.Generator, *, neighbours: bool
) -> LeakTest:
    """Largest absolute correlation of a feature with an outcome column; outcomes are permuted within groups.

    Args:
        features: shape (n, q).
        outcome: shape (n, m), such as ranks of a number or indicators of classes.
        groups: two groups of rows, shape (n,).
        draw: generator of the permutations.
        neighbours: also count the correlation of each row's outcome with the next row's.
    """
    scaled, values = standardise(features), standardise(outcome)
    n = len(values)

    def statistic(chosen: Array) -> float:
        largest = float(np.abs(scaled.T @ chosen).max(initial=0.0)) / n
        lag = float(np.abs((chosen[1:] * chosen[:-1]).sum(axis=0)).max(initial=0.0)) / n if neighbours else 0.0
        return max(largest, lag)

    parts = [np.flatnonzero(groups), np.flatnonzero(~groups)]

    def permuted() -> Array:
        rows = np.empty(n, dtype=np.int64)
        for part in parts:
            rows[part] = draw.permutation(part)
        return values[rows]

    return LeakTest(statistic(values), _null(lambda: statistic(permuted())))


def residual_association(features: Array, residual: Array, draw: np.random.Generator) -> LeakTest:
    """Largest self-normalised association of a feature with Bayes residuals, against random signs (wild bootstrap).

    Given the features, Bayes residuals have mean zero whatever their spread; a column that carries the label's own
    noise does not stay uncorrelated with them.

    Args:
        features: shape (n, q).
        residual: shape (n, m).
        draw: generator of the signs.
    """
    scaled = standardise(features)
    spread = np.sqrt((scaled**2).T @ residual**2)
    usable = np.where(spread > 0, spread, np.inf)

    def statistic(signs: Array) -> float:
        return float((np.abs(scaled.T @ (residual * signs[:, None])) / usable).max(initial=0.0))

    n = len(residual)
    return LeakTest(statistic(np.ones(n)), _null(lambda: statistic(draw.choice([-1.0, 1.0], n))))


def duplicates(matrix: Array, n_train: int, draw: np.random.Generator) -> LeakTest:
    """How many test rows equal a training row (to 0.001 standard deviations), against random splits of all rows.

    Args:
        matrix: standardised features of train, then of test.
        n_train: rows of train.
        draw: generator of the splits.
    """
    group = np.unique(np.round(matrix, 3) + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    split = np.arange(len(matrix)) < n_train

    def statistic(in_train: NDArray[np.bool_]) -> float:
        shared = np.bincount(group[in_train], minlength=group.max() + 1) > 0
        return float(shared[group[~in_train]].sum())

    return LeakTest(statistic(split), _null(lambda: statistic(draw.permutation(split))), floor=1.0)


def shift(
    numeric: list[Array], categorical: list[NDArray[np.int64]], n_train: int, draw: np.random.Generator
) -> LeakTest:
    """Largest difference of a marginal between train and test, in null standard deviations of its own column.

    Numbers are compared by the Kolmogorov-Smirnov distance (empty cells left out), levels by the root of chi-square.
    """
    n = len(numeric[0] if numeric else categorical[0])
    split = np.arange(n) < n_train
    splits = np.array([split, *(draw.permutation(split) for _ in range(NULL_DRAWS))])
    table = np.array([_ks(c, splits) for c in numeric] + [_root_chi2(c, splits) for c in categorical])
    spread = table[:, 1:].std(axis=1, ddof=1, keepdims=True)
    scaled = (table - table[:, 1:].mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    largest = scaled.max(axis=0)
    return LeakTest(float(largest[0]), largest[1:])


def _null(statistic: Callable[[], float]) -> Array:
    return np.array([statistic() for _ in range(NULL_DRAWS)])


def _ks(values: Array, splits: NDArray[np.bool_]) -> Array:
    """Kolmogorov-Smirnov distance between both sides of each split; shape (splits,)."""
    known = ~np.isnan(values)
    order = np.argsort(values[known])
    ranked = values[known][order]
    ends = np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)]
    inside = splits[:, known][:, order]
    counts = inside.sum(axis=1, keepdims=True)
    train = np.cumsum(inside, axis=1) / np.maximum(counts, 1)
    test = np.cumsum(~inside, axis=1) / np.maximum(len(ranked) - counts, 1)
    return np.asarray(np.abs(train - test)[:, ends].max(axis=1, initial=0.0), dtype=np.float64)


def _root_chi2(codes: NDArray[np.int64], splits: NDArray[np.bool_]) -> Array:
    """Root of Pearson's chi-square of level by side, up to a factor that all splits share; shape (splits,)."""
    levels = one_hot(codes)
    shares = levels.mean(axis=0)
    counts = splits.astype(np.float64) @ levels
    expected = splits.sum(axis=1, keepdims=True) * shares
    return np.asarray(np.sqrt(((counts - expected) ** 2 / shares).sum(axis=1)), dtype=np.float64)
