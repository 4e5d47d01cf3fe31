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
_ANY_CLASSES: tuple[ProblemType, ...] = ("binary", "multiclass", "ordinal")
_BINARY: tuple[ProblemType, ...] = ("binary",)
_MULTILABEL: tuple[ProblemType, ...] = ("multilabel",)
_NUMBERS: tuple[ProblemType, ...] = ("regression", "forecasting")
_RANKING: tuple[ProblemType, ...] = ("ranking",)
_TEXTS: tuple[ProblemType, ...] = ("seq2seq",)
_MASKS: tuple[ProblemType, ...] = ("segmentation",)

METRICS: dict[str, MetricFacts] = {
    "accuracy": MetricFacts("Accuracy", False, "label", _ANY_CLASSES),
    "balanced_accuracy": MetricFacts("Balanced accuracy", False, "label", _ANY_CLASSES),
    "f1": MetricFacts("F1 score", False, "label", _BINARY),
    "macro_f1": MetricFacts("Macro-averaged F1 score", False, "label", _CLASSES),
    "mcc": MetricFacts("Matthews correlation coefficient", False, "label", _CLASSES),
    "ordinal_mae": MetricFacts("Mean distance of ordered classes", True, "label", ("ordinal",)),
    "quadratic_kappa": MetricFacts("Quadratic weighted kappa", False, "label", ("multiclass", "ordinal")),
    "average_precision": MetricFacts("Average precision", False, "probability", _BINARY),
    "brier": MetricFacts("Brier score", True, "probability", _BINARY),
    "gini": MetricFacts("Normalized Gini index", False, "probability", _BINARY),
    "log_loss": MetricFacts("Log loss", True, "probability", _BINARY),
    "roc_auc": MetricFacts("Area under the ROC curve", False, "probability", _BINARY),
    "macro_roc_auc": MetricFacts(
        "Mean one-vs-rest area under the ROC curve", False, "class_probabilities", _ANY_CLASSES
    ),
    "multiclass_brier": MetricFacts("Multi-class Brier score", True, "class_probabilities", _ANY_CLASSES),
    "multiclass_log_loss": MetricFacts("Multi-class log loss", True, "class_probabilities", _ANY_CLASSES),
    "label_ranking_average_precision": MetricFacts(
        "Label ranking average precision", False, "label_probabilities", _MULTILABEL
    ),
    "mean_column_auc": MetricFacts(
        "Mean column-wise area under the ROC curve", False, "label_probabilities", _MULTILABEL
    ),
    "mean_column_log_loss": MetricFacts("Mean column-wise log loss", True, "label_probabilities", _MULTILABEL),
    "jaccard": MetricFacts("Mean Jaccard index", False, "label_set", _MULTILABEL),
    "micro_f1": MetricFacts("Micro-averaged F1 score", False, "label_set", _MULTILABEL),
    "sample_f1": MetricFacts("Sample-averaged F1 score", False, "label_set", _MULTILABEL),
    "map_at_3": MetricFacts("Mean average precision at 3", False, "ranked_labels", ("multiclass",)),
    "map_at_5": MetricFacts("Mean average precision at 5", False, "ranked_labels", ("multiclass",)),
    "mean_reciprocal_rank": MetricFacts("Mean reciprocal rank", False, "relevance", _RANKING),
    "ndcg_at_10": MetricFacts("Normalized discounted cumulative gain at 10", False, "relevance", _RANKING),
    "ndcg_at_5": MetricFacts("Normalized discounted cumulative gain at 5", False, "relevance", _RANKING),
    "concordance": MetricFacts("Concordance index", False, "number", _NUMBERS),
    "mae": MetricFacts("Mean absolute error", True, "number", _NUMBERS),
    "mape": MetricFacts("Mean absolute percentage error", True, "number", _NUMBERS),
    "median_absolute_error": MetricFacts("Median absolute error", True, "number", _NUMBERS),
    "pearson": MetricFacts("Pearson correlation", False, "number", _NUMBERS),
    "pinball_10": MetricFacts("Pinball loss at the 10 % quantile", True, "number", _NUMBERS),
    "pinball_50": MetricFacts("Pinball loss at the 50 % quantile", True, "number", _NUMBERS),
    "pinball_90": MetricFacts("Pinball loss at the 90 % quantile", True, "number", _NUMBERS),
    "r2": MetricFacts("Coefficient of determination (R2)", False, "number", _NUMBERS),
    "rmse": MetricFacts("Root mean squared error", True, "number", _NUMBERS),
    "rmsle": MetricFacts("Root mean squared logarithmic error", True, "number", _NUMBERS),
    "rmspe": MetricFacts("Root mean squared percentage error", True, "number", _NUMBERS),
    "smape": MetricFacts("Symmetric mean absolute percentage error", True, "number", _NUMBERS),
    "spearman": MetricFacts("Spearman rank correlation", False, "number", _NUMBERS),
    "character_error_rate": MetricFacts("Character error rate", True, "text", _TEXTS),
    "edit_distance": MetricFacts("Mean Levenshtein distance", True, "text", _TEXTS),
    "exact_match": MetricFacts("Exact match", False, "text", _TEXTS),
    "token_accuracy": MetricFacts("Token-wise agreement", False, "text", _TEXTS),
    "dice": MetricFacts("Mean Dice index", False, "mask", _MASKS),
    "iou": MetricFacts("Mean intersection over union", False, "mask", _MASKS),
}

DEFAULT_METRICS: dict[ProblemType, str] = {
    "binary": "log_loss",
    "multiclass": "multiclass_log_loss",
    "regression": "rmse",
}
