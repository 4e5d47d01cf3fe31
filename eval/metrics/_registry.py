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
            return self.finish(float(np.mean(self.units(truth, prediction))))
        assert self.whole is not None
        return self.whole(truth, prediction)

    def source(self) -> str:
        """Python source that defines ``metric_score(truth, prediction)``; needs ``np`` and ``MetricUndefined``."""
        if self.units is None:
            assert self.whole is not None
            value = f"{self.whole.__name__}(truth, prediction)"
            functions: list[Callable[..., Any]] = [*self.parts, self.whole]
        else:
            mean = f"float(np.mean({self.units.__name__}(truth, prediction)))"
            plain = self.finish is unchanged
            value = mean if plain else f"{self.finish.__name__}({mean})"
            functions = [*self.parts, self.units, *(() if plain else (self.finish,))]
        final = f'def metric_score(truth, prediction):\n    """{self.title}."""\n    return {value}\n'
        return "\n\n".join([*(inspect.getsource(function) for function in functions), final])


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
