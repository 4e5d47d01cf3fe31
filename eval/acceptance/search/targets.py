"""Targets as matrices: indicators of classes or labels, indices of ordered classes, numbers or their logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import skew

from sandmle.eval.acceptance.search.facts import Array, Facts, column

__all__ = ["Target", "read_target"]


@dataclass(frozen=True)
class Target:
    """What the models learn, and the way back.

    Attributes:
        y: (n, K).
        raw: as ``y``, on the scale of the answers.
        logarithm: whether ``y`` is log(raw + offset).
        groups: rows with one value are judged together, None if there are no groups.
    """

    y: Array
    raw: Array
    logarithm: bool
    offset: float
    groups: NDArray[np.object_] | None

    def back(self, found: Array, bias: float = 0.0) -> Array:
        """Predictions on the scale of the answers; ``bias`` is the mean squared error of logarithms, to be made up."""
        if not self.logarithm:
            return found
        return np.asarray(np.exp(np.clip(found, self.y.min() - 1, self.y.max() + 1) + bias / 2) - self.offset)


def read_target(facts: Facts, train: pd.DataFrame) -> Target:
    """The target column of the training rows, as text, as a matrix."""
    cells = train[facts.target].astype(str)
    if facts.mode == "labels":
        sets = [set(cell.split()) for cell in cells]
        y = np.array([[float(name in row) for name in facts.classes] for row in sets])
        return Target(y, y, False, 0.0, None)
    if facts.classes:
        y = np.asarray(cells.to_numpy()[:, None] == np.array(facts.classes, dtype=object), dtype=np.float64)
        if facts.ordered:
            y = column(y.argmax(axis=1))
        return Target(y, y, False, 0.0, None)
    values = pd.to_numeric(cells, errors="coerce").fillna(0.0).to_numpy(np.float64)
    if facts.group_column:
        groups = train[facts.group_column].astype(str).to_numpy(dtype=object)
        mean = pd.Series(values).groupby(groups).transform("mean").to_numpy()
        return Target(column(values - mean), column(values), False, 0.0, groups)
    offset = 1.0 if "rmsle" in facts.metric or "log" in facts.metric else 0.0
    skewed = values.min() > 0 and skew(values) > 1
    relative = values.min() > 0 and ("mape" in facts.metric or "rmspe" in facts.metric)
    if (offset and values.min() >= 0) or skewed or relative:
        offset = offset if values.min() >= 0 and not skewed else 0.0
        return Target(column(np.log(values + offset)), column(values), True, offset, None)
    return Target(column(values), column(values), False, 0.0, None)
