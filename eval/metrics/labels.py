"""Metrics of predicted class labels.

Truth and prediction are class indices 0..K-1 of shape (n,), n >= 1, as integers or as whole float64 numbers. The bodies
use nothing but ``np`` and ``MetricUndefined``, so that an ``evaluator.py`` can carry their source.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register

__all__ = ["accuracy", "macro_f1", "mcc", "quadratic_kappa"]


def accuracy(truth: Array, prediction: Array) -> float:
    """Share of rows whose label is right, in [0, 1]."""
    return float(np.mean(truth == prediction))


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


register(Metric("accuracy", "Accuracy", False, "label", frozenset({"binary", "multiclass"}), accuracy))
register(Metric("macro_f1", "Macro-averaged F1 score", False, "label", frozenset({"binary", "multiclass"}), macro_f1))
register(Metric("mcc", "Matthews correlation coefficient", False, "label", frozenset({"binary", "multiclass"}), mcc))
register(
    Metric("quadratic_kappa", "Quadratic weighted kappa", False, "label", frozenset({"multiclass"}), quadratic_kappa)
)
