"""Metrics of predicted numbers.

Truth and prediction have shape (n,), n >= 1; t and p below are one row's truth and prediction. The bodies use nothing
but ``np`` and ``MetricUndefined``, so that an ``evaluator.py`` can carry their source.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register

__all__ = ["mae", "mape", "r2", "rmse", "rmsle", "smape"]


def rmse(truth: Array, prediction: Array) -> float:
    """Root of the mean of (t - p)^2, >= 0, in the target's unit."""
    return float(np.sqrt(np.mean((truth - prediction) ** 2)))


def mae(truth: Array, prediction: Array) -> float:
    """Mean of |t - p|, >= 0, in the target's unit."""
    return float(np.mean(np.abs(truth - prediction)))


def rmsle(truth: Array, prediction: Array) -> float:
    """Root of the mean of (ln(1 + t) - ln(1 + p))^2, >= 0.

    Raises:
        MetricUndefined: a true or predicted value is negative.
    """
    if truth.min() < 0 or prediction.min() < 0:
        raise MetricUndefined("RMSLE: a value is negative")
    return float(np.sqrt(np.mean((np.log1p(truth) - np.log1p(prediction)) ** 2)))


def r2(truth: Array, prediction: Array) -> float:
    """Coefficient of determination 1 - sum (t - p)^2 / sum (t - mean t)^2, at most 1.

    Raises:
        MetricUndefined: the truth is constant (scikit-learn gives 0 or 1 there).
    """
    total = float(np.sum((truth - np.mean(truth)) ** 2))
    if total == 0.0 or truth.min() == truth.max():
        raise MetricUndefined("R2: the true values are all the same")
    return float(1.0 - np.sum((truth - prediction) ** 2) / total)


def mape(truth: Array, prediction: Array) -> float:
    """Mean of |t - p| / |t|, >= 0, as a fraction (0.1 is 10 %), as in scikit-learn.

    Raises:
        MetricUndefined: a true value is 0 (scikit-learn divides by 2^-52 there).
    """
    if np.any(truth == 0):
        raise MetricUndefined("MAPE: a true value is 0")
    return float(np.mean(np.abs(truth - prediction) / np.abs(truth)))


def smape(truth: Array, prediction: Array) -> float:
    """Mean of 2 |t - p| / (|t| + |p|), in [0, 2], as a fraction; a row with t = p = 0 counts 0."""
    scale = np.abs(truth) + np.abs(prediction)
    return float(np.mean(2.0 * np.abs(truth - prediction) / np.where(scale == 0.0, 1.0, scale)))


register(Metric("rmse", "Root mean squared error", True, "number", frozenset({"regression"}), rmse))
register(Metric("mae", "Mean absolute error", True, "number", frozenset({"regression"}), mae))
register(
    Metric(
        "rmsle",
        "Root mean squared logarithmic error",
        True,
        "number",
        frozenset({"regression"}),
        rmsle,
        (0.0, float("inf")),
    )
)
register(Metric("r2", "Coefficient of determination (R2)", False, "number", frozenset({"regression"}), r2))
register(Metric("mape", "Mean absolute percentage error", True, "number", frozenset({"regression"}), mape))
register(Metric("smape", "Symmetric mean absolute percentage error", True, "number", frozenset({"regression"}), smape))
