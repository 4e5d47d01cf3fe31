"""The ``Metric`` record and the registry that finds one by its name.

Vocabulary:
    unit     what a score is a mean over: a row, or a group of rows that are ranked together
    whole    a score that is no mean of units, such as ROC AUC
    source   the functions behind a metric as text, so that an ``evaluator.py`` can carry them

Functions of a metric use nothing but ``np``, ``MetricUndefined`` and the metric's own ``parts``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandmle.errors import BadInput
from sandmle.task import PredictionKind, ProblemType

__all__ = [
    "Array",
    "Metric",
    "MetricUndefined",
    "Values",
    "get_metric",
    "metric_names",
    "metric_title",
    "register",
    "root",
    "unchanged",
]

Array = NDArray[np.float64]
Values = NDArray[Any]
"""What a metric takes: float64, or str where texts are predicted."""


class MetricUndefined(ValueError):
    """The metric has no value on these rows, such as ROC AUC where only one class occurs."""


def unchanged(mean: float) -> float:
    """The mean of the units is the score."""
    return mean


def root(mean: float) -> float:
    """The square root of the mean of the units."""
    return float(np.sqrt(mean))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """How predictions are scored.

    What ``truth`` and ``prediction`` are depends on the kind of prediction; n rows, K classes, float64 but for texts:

        kind                 truth                              prediction
        label                (n,) class index 0..K-1            (n,) class index
        probability          (n,) class index 0 or 1            (n,) probability of class 1
        class_probabilities  (n,) class index                   (n, K), no row sums to 0
        label_probabilities  (n, K) 0 or 1                      (n, K)
        label_set            (n, K) 0 or 1                      (n, K) 0 or 1
        ranked_labels        (n,) class index                   (n, top) class index, -1 after the last
        relevance            (n, 2) relevance >= 0, group       (n,)
        number               (n,)                               (n,)
        text                 (n,) str                           (n,) str
        mask                 (n, pixels) 0 or 1                 (n, pixels) 0 or 1

    Exactly one of ``whole`` and ``units`` is given.

    Attributes:
        name: as users write it, such as ``roc_auc``.
        title: as a brief writes it, such as ``Area under the ROC curve``.
        lower_is_better: direction.
        prediction: what a submission holds.
        problem_types: the problems it suits.
        note: definition and range for a competitor, a sentence or two that name no direction.
        whole: the score of all rows at once, where it is no mean of units.
        units: one value per unit, shape (units,): a row, or for ``relevance`` a group in ascending group number.
        weights: what each unit counts in their weighted mean, shape (units,), >= 0; 1 where None. The units are then
            already multiplied by it: the mean is the sum of the units over the sum of the weights.
        finish: from the mean of the units to the score.
        parts: functions that ``whole`` or ``units`` call.
        domain: closed interval in which every predicted number must lie.
    """

    name: str
    title: str
    lower_is_better: bool
    prediction: PredictionKind
    problem_types: frozenset[ProblemType]
    note: str
    whole: Callable[[Values, Values], float] | None = None
    units: Callable[[Values, Values], Array] | None = None
    weights: Callable[[Values, Values], Array] | None = None
    finish: Callable[[float], float] = unchanged
    parts: tuple[Callable[..., Any], ...] = ()
    domain: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        if (self.whole is None) == (self.units is None):
            raise ValueError(f"metric {self.name!r} needs either whole or units")

    def score(self, truth: Values, prediction: Values) -> float:
        """The score of a prediction; equals ``finish(mean(units(truth, prediction)))`` where there are units.

        Raises:
            MetricUndefined: it has no value on these rows.
        """
        if self.units is not None:
            units = self.units(truth, prediction)
            weights = None if self.weights is None else self.weights(truth, prediction)
            return self.finish(float(np.mean(units)) if weights is None else ratio_of_sums(units, weights))
        assert self.whole is not None
        return self.whole(truth, prediction)

    def source(self) -> str:
        """Python source that defines ``metric_score(truth, prediction)``; needs ``np`` and ``MetricUndefined``."""
        if self.units is None:
            assert self.whole is not None
            value = f"{self.whole.__name__}(truth, prediction)"
            functions: list[Callable[..., Any]] = [*self.parts, self.whole]
        else:
            units = f"{self.units.__name__}(truth, prediction)"
            functions = [*self.parts, self.units]
            if self.weights is None:
                value = f"float(np.mean({units}))"
            else:
                value = f"ratio_of_sums({units}, {self.weights.__name__}(truth, prediction))"
                functions += [self.weights, ratio_of_sums]
            if self.finish is not unchanged:
                value = f"{self.finish.__name__}({value})"
                functions.append(self.finish)
        final = f'def metric_score(truth, prediction):\n    """{self.title}."""\n    return {value}\n'
        return "\n\n".join([*(inspect.getsource(function) for function in functions), final])


def ratio_of_sums(units: Array, weights: Array) -> float:
    """The weighted mean of units that are already multiplied by their weights.

    Raises:
        MetricUndefined: all weights are 0.
    """
    total = float(np.sum(weights))
    if total == 0.0:
        raise MetricUndefined("ratio of sums: the true values hold nothing to compare with")
    return float(np.sum(units)) / total


_METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Make ``metric`` findable by its name."""
    if metric.name in _METRICS:
        raise ValueError(f"two metrics are named {metric.name!r}")
    _METRICS[metric.name] = metric
    return metric


def metric_names() -> tuple[str, ...]:
    """The names of all metrics, sorted."""
    return tuple(sorted(_METRICS))


def get_metric(name: str) -> Metric:
    """The metric called ``name``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    try:
        return _METRICS[name]
    except KeyError:
        raise BadInput(f"unknown metric {name!r}; choose from {', '.join(metric_names())}") from None


def metric_title(name: str) -> str:
    """How a brief writes the metric ``name``; the name itself where only a benchmark's own grader knows it."""
    return _METRICS[name].title if name in _METRICS else name
