"""Statistics with a permutation null: what would be seen if nothing leaked.

Every test keeps the data and redraws only what a clean task makes exchangeable: labels over rows (within a group, where
rows are ranked by group), the split over rows or whole groups, or labels given their Bayes probabilities. A test alarms
where the observed statistic exceeds every draw of its null and lies more than five null standard deviations above their
mean, so that the whole audit stays below 2 % false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._columns import rank_columns, standardise
from sandmle.eval.acceptance._criteria import MIN_PERMUTATIONS
from sandmle.eval.acceptance._registry import Finding
from sandmle.eval.acceptance._residuals import Residual
from sandmle.eval.metrics import Array

__all__ = [
    "LeakTest",
    "Splits",
    "association",
    "conclude",
    "duplicates",
    "place_features",
    "residual_association",
    "shift",
]

NULL_DRAWS = 200
Z_ALARM = 5.0
WAVES = 4
BINS = 8


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


@dataclass(frozen=True)
class Splits:
    """The real split of all rows into train and test, and random ones that keep units whole.

    Attributes:
        in_train: shape (1 + draws, n), the real split first.
    """

    in_train: NDArray[np.bool_]

    @classmethod
    def draw(cls, units: NDArray[np.int64], n_train: int, draw: np.random.Generator) -> Splits:
        """Random splits of units.

        Args:
            units: the unit of each row, shape (n,); a row of its own, or a group that is never divided.
            n_train: rows of train, which come first.
            draw: generator of the splits.
        """
        n_units = int(units.max()) + 1
        real = np.zeros(n_units, dtype=np.bool_)
        real[units[:n_train]] = True
        return cls(np.array([real[units], *(draw.permutation(real)[units] for _ in range(NULL_DRAWS))]))


def conclude(tests: Mapping[str, LeakTest], sentences: Mapping[str, str]) -> Finding:
    """A finding that fails where a test alarms; numbers are ``<test>_z`` and ``<test>_p``.

    Args:
        tests: by name.
        sentences: what an alarm of each means.
    """
    reasons = [f"{sentences[name]} (z={test.z:.1f})" for name, test in tests.items() if test.alarm]
    numbers = {f"{name}_z": test.z for name, test in tests.items()} | {
        f"{name}_p": test.p for name, test in tests.items()
    }
    return Finding("; ".join(reasons), numbers, passed=not reasons)


def place_features(n: int) -> Array:
    """What a row's place could give away: four cosine waves and the parity of the row number, shape (n, 5)."""
    place = (np.arange(n) + 0.5) / n
    waves = [np.cos(np.pi * k * place) for k in range(1, WAVES + 1)]
    return np.column_stack([*waves, np.arange(n) % 2])


def association(
    features: Array, outcome: Array, blocks: NDArray[np.int64], draw: np.random.Generator, *, neighbours: bool
) -> LeakTest:
    """Largest absolute correlation of a feature with an outcome column; outcomes are permuted within blocks.

    Args:
        features: shape (n, q).
        outcome: shape (n, m), such as ranks of a number or indicators of classes.
        blocks: the block of each row, shape (n,).
        draw: generator of the permutations.
        neighbours: also count the correlation of each row's outcome with the next row's.
    """
    scaled, values = standardise(features), standardise(outcome)
    n = len(values)

    def statistic(chosen: Array) -> float:
        largest = float(np.abs(scaled.T @ chosen).max(initial=0.0)) / n
        lag = float(np.abs((chosen[1:] * chosen[:-1]).sum(axis=0)).max(initial=0.0)) / n if neighbours else 0.0
        return max(largest, lag)

    in_blocks = np.argsort(blocks, kind="stable")

    def permuted() -> Array:
        rows = np.empty(n, dtype=np.int64)
        rows[in_blocks] = np.lexsort((draw.random(n), blocks))
        return values[rows]

    return LeakTest(statistic(values), _null(lambda: statistic(permuted())))


def residual_association(features: Array, residual: Residual, draw: np.random.Generator) -> LeakTest:
    """Largest association of a feature with Bayes residuals, in standard errors, against residuals drawn anew.

    Given the features, Bayes residuals have mean zero whatever their spread; a column that carries the label's own
    noise does not stay uncorrelated with them.

    Args:
        features: shape (n, q).
        residual: of the same rows.
        draw: generator of the new residuals.
    """
    scaled = standardise(features)
    spread = np.sqrt((scaled**2).T @ residual.variance)
    usable = np.where(spread > 0, spread, np.inf)

    def statistic(values: Array) -> float:
        return float((np.abs(scaled.T @ values) / usable).max(initial=0.0))

    return LeakTest(statistic(residual.values), _null(lambda: statistic(residual.redraw(draw))))


def duplicates(table: Array, splits: Splits) -> LeakTest:
    """How many test rows equal a training row, against random splits of all rows.

    Args:
        table: what is compared, of train, then of test; shape (n, p), rounded as wanted.
        splits: of all rows.
    """
    group = np.unique(table + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    size = int(group.max()) + 1

    def statistic(in_train: NDArray[np.bool_]) -> float:
        shared = np.bincount(group[in_train], minlength=size) > 0
        return float(shared[group[~in_train]].sum())

    counts = np.array([statistic(split) for split in splits.in_train])
    return LeakTest(float(counts[0]), counts[1:], floor=1.0)


def shift(numeric: Array, categorical: list[NDArray[np.int64]], splits: Splits) -> LeakTest:
    """Largest difference of a marginal between train and test, in null standard deviations of its own column.

    A number is compared by the mean of its ranks, by their distance from the middle and by the root of Pearson's
    chi-square over eight bins and the empty cells, a category by the same over its levels.

    Args:
        numeric: shape (n, p), NaN where empty.
        categorical: level numbers, each of shape (n,).
        splits: of all rows.
    """
    sides = splits.in_train.astype(np.float64)
    ranks = rank_columns(numeric)
    empty = np.isnan(ranks)
    share = (np.where(empty, 0.0, ranks) - 0.5) / np.maximum((~empty).sum(axis=0), 1)
    middle = np.where(empty, 0.0, share - 0.5)
    moments = np.abs(sides @ standardise(np.hstack([middle, np.where(empty, 0.0, middle**2 - 1 / 12)])))
    bins = np.where(empty, BINS, np.floor(share * BINS)).astype(np.int64)
    codes = [*bins.T, *categorical]
    table = np.hstack([moments, *(_root_chi2(column, sides)[:, None] for column in codes)])
    spread = table[1:].std(axis=0, ddof=1)
    scaled = (table - table[1:].mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf)
    largest = scaled.max(axis=1, initial=0.0)
    return LeakTest(float(largest[0]), largest[1:])


def _null(statistic: Callable[[], float]) -> Array:
    return np.array([statistic() for _ in range(NULL_DRAWS)])


def _root_chi2(codes: NDArray[np.int64], sides: Array) -> Array:
    """Root of Pearson's chi-square of level by side, up to a factor that all splits share; shape (splits,)."""
    levels = np.asarray(codes[:, None] == np.unique(codes), dtype=np.float64)
    shares = levels.mean(axis=0)
    expected = sides.sum(axis=1, keepdims=True) * shares
    return np.asarray(np.sqrt(((sides @ levels - expected) ** 2 / shares).sum(axis=1)), dtype=np.float64)
