"""Metrics of predicted class labels.

Truth and prediction are class indices 0..K-1 of shape (n,), n >= 1, as integers or as whole float64 numbers.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register
from sandmle.task import ProblemType

__all__ = ["balanced_accuracy", "class_distances", "f1", "label_hits", "macro_f1", "mcc", "quadratic_kappa"]

CLASSES: frozenset[ProblemType] = frozenset({"binary", "multiclass"})


def label_hits(truth: Array, prediction: Array) -> Array:
    """1 where a row's label is right, else 0."""
    return np.asarray(truth == prediction, dtype=np.float64)


def class_distances(truth: Array, prediction: Array) -> Array:
    """How many classes lie between the true and the predicted one, the latter included."""
    return np.abs(truth - prediction).astype(np.float64)


def balanced_accuracy(truth: Array, prediction: Array) -> float:
    """Mean over the classes that occur in truth of the share of their rows that are right, in [0, 1].

    Equals scikit-learn's ``balanced_accuracy_score``.
    """
    true = truth.astype(np.int64)
    rows = np.bincount(true)
    hits = np.bincount(true[truth == prediction], minlength=len(rows))
    return float(np.mean(hits[rows > 0] / rows[rows > 0]))


def f1(truth: Array, prediction: Array) -> float:
    """2 TP / (2 TP + FP + FN) of class 1, in [0, 1]; 0 where class 1 is neither true nor predicted anywhere.

    Equals scikit-learn's ``f1_score``.
    """
    hits = float(np.sum((truth == 1) & (prediction == 1)))
    marginals = float(np.sum(truth == 1) + np.sum(prediction == 1))
    return 2.0 * hits / max(marginals, 1.0)


def macro_f1(truth: Array, prediction: Array) -> float:
    """Mean over classes of 2 TP / (2 TP + FP + FN), in [0, 1].

    The classes are those that occur in truth or prediction, as in scikit-learn's ``f1_score(average="macro")``.
    """
    true = truth.astype(np.int64)
    predicted = prediction.astype(np.int64)
    size = int(max(true.max(), predicted.max())) + 1
    hits = np.bincount(true[true == predicted], minlength=size)
    marginals = np.bincount(true, minlength=size) + np.bincount(predicted, minlength=size)
    occurs = marginals > 0
    return float(np.mean(2.0 * hits[occurs] / marginals[occurs]))


def mcc(truth: Array, prediction: Array) -> float:
    """Matthews correlation coefficient, in [-1, 1]; for K classes Gorodkin's R_K (2004).

    0 where truth or prediction holds one class only, as in scikit-learn's ``matthews_corrcoef``.
    """
    true = truth.astype(np.int64)
    predicted = prediction.astype(np.int64)
    size = int(max(true.max(), predicted.max())) + 1
    true_counts = np.bincount(true, minlength=size).astype(np.float64)
    predicted_counts = np.bincount(predicted, minlength=size).astype(np.float64)
    rows = float(len(true))
    covariance = float(np.count_nonzero(true == predicted)) * rows - float(true_counts @ predicted_counts)
    true_variance = rows * rows - float(true_counts @ true_counts)
    predicted_variance = rows * rows - float(predicted_counts @ predicted_counts)
    if true_variance == 0.0 or predicted_variance == 0.0:
        return 0.0
    return float(covariance / (np.sqrt(true_variance) * np.sqrt(predicted_variance)))


def quadratic_kappa(truth: Array, prediction: Array) -> float:
    """Cohen's kappa with weights (i - j)^2 between class indices i and j, at most 1.

    Computed as 1 - E[(t - p)^2] / E[(t' - p')^2] with t', p' drawn independently from the marginals, which is what the
    weighted confusion matrices come to. Equals scikit-learn's ``cohen_kappa_score(weights="quadratic",
    labels=range(K))``: a class that does not occur still counts as a step on the scale.

    Raises:
        MetricUndefined: truth and prediction are one and the same class on every row.
    """
    true = truth.astype(np.float64)
    predicted = prediction.astype(np.float64)
    rows = float(len(true))
    gap = true - predicted
    observed = rows * float(gap @ gap)
    squares = float(true @ true) + float(predicted @ predicted)
    expected = rows * squares - 2.0 * float(true.sum()) * float(predicted.sum())
    if expected == 0.0:
        raise MetricUndefined("quadratic kappa: truth and prediction hold one and the same class only")
    return float(1.0 - observed / expected)


register(
    Metric(
        name="accuracy",
        title="Accuracy",
        lower_is_better=False,
        prediction="label",
        problem_types=CLASSES | {"ordinal"},
        note="It is the share of rows whose label is right, between 0 and 1.",
        units=label_hits,
    )
)
register(
    Metric(
        name="balanced_accuracy",
        title="Balanced accuracy",
        lower_is_better=False,
        prediction="label",
        problem_types=CLASSES | {"ordinal"},
        note="It is the share of a class's rows whose label is right, averaged over the classes without regard to their"
        " size; it lies between 0 and 1.",
        whole=balanced_accuracy,
    )
)
register(
    Metric(
        name="f1",
        title="F1 score",
        lower_is_better=False,
        prediction="label",
        problem_types=frozenset({"binary"}),
        note="It is the harmonic mean of precision and recall of the second of the two labels, in the order in which"
        " they are listed here; it lies between 0 and 1.",
        whole=f1,
    )
)
register(
    Metric(
        name="macro_f1",
        title="Macro-averaged F1 score",
        lower_is_better=False,
        prediction="label",
        problem_types=CLASSES,
        note="For each class the harmonic mean of precision and recall is taken; the score is their unweighted mean"
        " over the classes, between 0 and 1.",
        whole=macro_f1,
    )
)
register(
    Metric(
        name="mcc",
        title="Matthews correlation coefficient",
        lower_is_better=False,
        prediction="label",
        problem_types=CLASSES,
        note="It is the correlation of true and predicted labels, computed from the whole confusion matrix; it lies"
        " between -1 and 1, and a constant prediction scores 0.",
        whole=mcc,
    )
)
register(
    Metric(
        name="ordinal_mae",
        title="Mean distance of ordered classes",
        lower_is_better=True,
        prediction="label",
        problem_types=frozenset({"ordinal"}),
        note="The classes are numbered in their order; the score is the mean distance of the predicted class's number"
        " from the true one's: 0 is perfect, 1 means one step off on average.",
        units=class_distances,
    )
)
register(
    Metric(
        name="quadratic_kappa",
        title="Quadratic weighted kappa",
        lower_is_better=False,
        prediction="label",
        problem_types=frozenset({"multiclass", "ordinal"}),
        note="It is the agreement of predicted and true classes beyond chance, where an error counts with the square"
        " of its distance in the order of the classes: 1 is perfect, 0 is what chance gives, and it may be negative.",
        whole=quadratic_kappa,
    )
)
