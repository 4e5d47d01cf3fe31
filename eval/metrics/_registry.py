"""The ``Metric`` record and the registry that finds one by its name.

Every score function is one self-contained function of numpy arrays, so that an ``evaluator.py`` can carry its source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sandmle.errors import BadInput
from sandmle.task import PredictionKind, ProblemType

__all__ = ["Array", "Metric", "MetricUndefined", "get_metric", "metric_names", "register"]

Array = NDArray[np.float64]
ScoreFunction = Callable[[Array, Array], float]


class MetricUndefined(ValueError):
    """The metric has no value on these rows, such as ROC AUC where only one class occurs."""


@dataclass(frozen=True)
class Metric:
    """How predictions are scored.

    Attributes:
        name: as users write it, such as ``roc_auc``.
        title: as a brief writes it, such as ``Area under the ROC curve``.
        lower_is_better: direction.
        prediction: what a submission holds. Labels come to ``score`` as class indices 0..K-1, probabilities as floats
            of shape (n,) or (n, K), numbers as floats.
        problem_types: the problems it suits.
        score: ``score(truth, prediction)``; truth has shape (n,), class indices or numbers.
        domain: closed interval in which every prediction must lie.
    """

    name: str
    title: str
    lower_is_better: bool
    prediction: PredictionKind
    problem_types: frozenset[ProblemType]
    score: ScoreFunction
    domain: tuple[float, float] = (-np.inf, np.inf)


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
