"""What a seed must know of a metric: its direction, what a submission holds, and the problems it suits.

Seeds lie below ``sandmle.eval`` and may not import it; a test holds this table equal to the registry there.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandmle.task import PredictionKind, ProblemType

__all__ = ["DEFAULT_METRICS", "METRICS", "MetricFacts"]


@dataclass(frozen=True)
class MetricFacts:
    """Facts of one metric; ``title`` is how a brief writes it."""

    title: str
    lower_is_better: bool
    prediction: PredictionKind
    problem_types: tuple[ProblemType, ...]


_CLASSES: tuple[ProblemType, ...] = ("binary", "multiclass")
_NUMBERS: tuple[ProblemType, ...] = ("regression",)

METRICS: dict[str, MetricFacts] = {
    "accuracy": MetricFacts("Accuracy", False, "label", _CLASSES),
    "macro_f1": MetricFacts("Macro-averaged F1 score", False, "label", _CLASSES),
    "mcc": MetricFacts("Matthews correlation coefficient", False, "label", _CLASSES),
    "quadratic_kappa": MetricFacts("Quadratic weighted kappa", False, "label", ("multiclass",)),
    "log_loss": MetricFacts("Log loss", True, "probability", ("binary",)),
    "multiclass_log_loss": MetricFacts("Multi-class log loss", True, "class_probabilities", _CLASSES),
    "roc_auc": MetricFacts("Area under the ROC curve", False, "probability", ("binary",)),
    "rmse": MetricFacts("Root mean squared error", True, "number", _NUMBERS),
    "mae": MetricFacts("Mean absolute error", True, "number", _NUMBERS),
    "rmsle": MetricFacts("Root mean squared logarithmic error", True, "number", _NUMBERS),
    "r2": MetricFacts("Coefficient of determination (R2)", False, "number", _NUMBERS),
    "mape": MetricFacts("Mean absolute percentage error", True, "number", _NUMBERS),
    "smape": MetricFacts("Symmetric mean absolute percentage error", True, "number", _NUMBERS),
}

DEFAULT_METRICS: dict[ProblemType, str] = {
    "binary": "log_loss",
    "multiclass": "multiclass_log_loss",
    "regression": "rmse",
}
