"""Pinball losses: how well predicted numbers are a given quantile of what can happen.

Truth and prediction have shape (n,), n >= 1. Equal to scikit-learn's ``mean_pinball_loss`` (Koenker & Bassett 1978).
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["pinball", "pinball_10", "pinball_50", "pinball_90"]

NUMBERS: frozenset[ProblemType] = frozenset({"regression", "forecasting"})


def pinball(truth: Array, prediction: Array, level: float) -> Array:
    """``level`` times the error of each row where the truth lies above, 1 - ``level`` times where it lies below."""
    return np.maximum(level * (truth - prediction), (level - 1.0) * (truth - prediction))


def pinball_10(truth: Array, prediction: Array) -> Array:
    """Pinball loss of each row at the 10 % quantile."""
    return pinball(truth, prediction, 0.1)


def pinball_50(truth: Array, prediction: Array) -> Array:
    """Pinball loss of each row at the median."""
    return pinball(truth, prediction, 0.5)


def pinball_90(truth: Array, prediction: Array) -> Array:
    """Pinball loss of each row at the 90 % quantile."""
    return pinball(truth, prediction, 0.9)


for _percent, _units in ((10, pinball_10), (50, pinball_50), (90, pinball_90)):
    register(
        Metric(
            name=f"pinball_{_percent}",
            title=f"Pinball loss at the {_percent} % quantile",
            lower_is_better=True,
            prediction="number",
            problem_types=NUMBERS,
            note=f"An error counts {_percent / 100} times its size where the true value lies above the prediction and"
            f" {1 - _percent / 100:g} times where it lies below; the score is the mean, 0 or more, in the units of the"
            f" target. The ideal prediction is the value that the target stays below with a chance of {_percent} %.",
            units=_units,
            parts=(pinball,),
        )
    )
