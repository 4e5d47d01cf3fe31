"""Metrics of predicted numbers.

Truth and prediction have shape (n,), n >= 1; t and p below are one row's truth and prediction.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register, root
from sandmle.task import ProblemType

__all__ = [
    "absolute_errors",
    "median_absolute_error",
    "r2",
    "relative_errors",
    "squared_errors",
    "squared_log_errors",
    "squared_relative_errors",
    "symmetric_errors",
]

NUMBERS: frozenset[ProblemType] = frozenset({"regression", "forecasting"})


def squared_errors(truth: Array, prediction: Array) -> Array:
    """(t - p)^2 of each row."""
    return np.asarray((truth - prediction) ** 2)


def absolute_errors(truth: Array, prediction: Array) -> Array:
    """|t - p| of each row, in the target's unit."""
    return np.abs(truth - prediction)


def squared_log_errors(truth: Array, prediction: Array) -> Array:
    """(ln(1 + t) - ln(1 + p))^2 of each row.

    Raises:
        MetricUndefined: a true or predicted value is negative.
    """
    if truth.min() < 0 or prediction.min() < 0:
        raise MetricUndefined("RMSLE: a value is negative")
    return np.asarray((np.log1p(truth) - np.log1p(prediction)) ** 2)


def relative_errors(truth: Array, prediction: Array) -> Array:
    """|t - p| / |t| of each row, as a fraction (0.1 is 10 %), as in scikit-learn.

    Raises:
        MetricUndefined: a true value is 0 (scikit-learn divides by 2^-52 there).
    """
    if np.any(truth == 0):
        raise MetricUndefined("MAPE: a true value is 0")
    return np.asarray(np.abs(truth - prediction) / np.abs(truth))


def squared_relative_errors(truth: Array, prediction: Array) -> Array:
    """((t - p) / t)^2 of each row.

    Raises:
        MetricUndefined: a true value is 0.
    """
    if np.any(truth == 0):
        raise MetricUndefined("RMSPE: a true value is 0")
    return np.asarray(((truth - prediction) / truth) ** 2)


def symmetric_errors(truth: Array, prediction: Array) -> Array:
    """2 |t - p| / (|t| + |p|) of each row, in [0, 2], as a fraction; a row with t = p = 0 counts 0."""
    scale = np.abs(truth) + np.abs(prediction)
    return np.asarray(2.0 * np.abs(truth - prediction) / np.where(scale == 0.0, 1.0, scale))


def r2(truth: Array, prediction: Array) -> float:
    """Coefficient of determination 1 - sum (t - p)^2 / sum (t - mean t)^2, at most 1.

    Raises:
        MetricUndefined: the truth is constant (scikit-learn gives 0 or 1 there).
    """
    total = float(np.sum((truth - np.mean(truth)) ** 2))
    if total == 0.0 or truth.min() == truth.max():
        raise MetricUndefined("R2: the true values are all the same")
    return float(1.0 - np.sum((truth - prediction) ** 2) / total)


def median_absolute_error(truth: Array, prediction: Array) -> float:
    """Median of |t - p|, >= 0, in the target's unit; of an even number of rows the mean of the middle two."""
    return float(np.median(np.abs(truth - prediction)))


register(
    Metric(
        name="mae",
        title="Mean absolute error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the mean absolute difference of the prediction from the true value, 0 or more, in the units of the"
        " target.",
        units=absolute_errors,
    )
)
register(
    Metric(
        name="mape",
        title="Mean absolute percentage error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the mean of the absolute error over the absolute true value. It is a fraction, 0 or more: 0.1 means"
        " ten percent.",
        units=relative_errors,
    )
)
register(
    Metric(
        name="median_absolute_error",
        title="Median absolute error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the median absolute difference of the prediction from the true value, 0 or more, in the units of"
        " the target.",
        whole=median_absolute_error,
    )
)
register(
    Metric(
        name="r2",
        title="Coefficient of determination (R2)",
        lower_is_better=False,
        prediction="number",
        problem_types=NUMBERS,
        note="It is one minus the sum of squared errors over the sum of squared differences of the true values from"
        " their mean: 1 for a perfect prediction, about 0 for the mean, and negative for what is worse than the mean.",
        whole=r2,
    )
)
register(
    Metric(
        name="rmse",
        title="Root mean squared error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the square root of the mean squared difference of the prediction from the true value, 0 or more, in"
        " the units of the target.",
        units=squared_errors,
        finish=root,
    )
)
register(
    Metric(
        name="rmsle",
        title="Root mean squared logarithmic error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the root of the mean squared difference between the natural logarithms of one plus the prediction"
        " and one plus the true value, 0 or more. Errors count in proportion to the value rather than in its units;"
        " negative predictions are refused.",
        units=squared_log_errors,
        finish=root,
        domain=(0.0, float("inf")),
    )
)
register(
    Metric(
        name="rmspe",
        title="Root mean squared percentage error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the root of the mean squared ratio of the error to the true value. It is a fraction, 0 or more: 0.1"
        " means ten percent.",
        units=squared_relative_errors,
        finish=root,
    )
)
register(
    Metric(
        name="smape",
        title="Symmetric mean absolute percentage error",
        lower_is_better=True,
        prediction="number",
        problem_types=NUMBERS,
        note="It is the mean of twice the absolute error over the sum of the absolute true and predicted values, a"
        " fraction between 0 and 2; a row where both are 0 counts 0.",
        units=symmetric_errors,
    )
)
