"""Metrics of predicted probabilities.

Truth is class indices of shape (n,), n >= 1. A prediction is the probability of class 1, shape (n,), or one probability
per class, shape (n, K), all in [0, 1]. The bodies use nothing but ``np`` and ``MetricUndefined``, so that an
``evaluator.py`` can carry their source.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register

__all__ = ["log_loss", "multiclass_log_loss", "roc_auc"]


def log_loss(truth: Array, prediction: Array) -> float:
    """Mean of -ln(probability given to the true class), >= 0, in nats.

    Probabilities are clipped to [eps, 1 - eps], eps = 2^-52, as in scikit-learn's ``log_loss`` for float64. Defined
    also where one class only occurs.
    """
    eps = 2.0**-52
    given = np.where(truth == 1, prediction, 1.0 - prediction)
    return float(-np.mean(np.log(np.clip(given, eps, 1.0 - eps))))


def multiclass_log_loss(truth: Array, prediction: Array) -> float:
    """Mean of -ln(probability given to the true class), >= 0, in nats.

    Each row is first divided by its sum, then clipped to [eps, 1 - eps], eps = 2^-52, as Kaggle's hosts and
    scikit-learn's ``log_loss`` on normalised rows do.

    Raises:
        MetricUndefined: the probabilities of a row sum to 0.
    """
    eps = 2.0**-52
    sums = prediction.sum(axis=1)
    if not np.all(sums > 0.0):
        raise MetricUndefined("multiclass log loss: the probabilities of a row sum to 0")
    given = prediction[np.arange(len(truth)), truth.astype(np.int64)] / sums
    return float(-np.mean(np.log(np.clip(given, eps, 1.0 - eps))))


def roc_auc(truth: Array, prediction: Array) -> float:
    """Area under the ROC curve, in [0, 1]: the chance that a row of class 1 is ranked above one of class 0, ties half.

    Mann-Whitney count over groups of equal predictions after one sort; equals scikit-learn's ``roc_auc_score``.

    Raises:
        MetricUndefined: one class only occurs in truth.
    """
    order = np.argsort(prediction)
    ranked = prediction[order]
    seen_positives = np.cumsum(truth[order] == 1)
    group_ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    positives_to = seen_positives[group_ends].astype(np.float64)
    negatives_to = group_ends + 1.0 - positives_to
    pairs = float(positives_to[-1]) * float(negatives_to[-1])
    if pairs == 0.0:
        raise MetricUndefined("ROC AUC: one class only occurs in these rows")
    positives = np.diff(positives_to, prepend=0.0)
    negatives = np.diff(negatives_to, prepend=0.0)
    return float(positives @ (negatives_to - 0.5 * negatives)) / pairs


register(Metric("log_loss", "Log loss", True, "probability", frozenset({"binary"}), log_loss, (0.0, 1.0)))
register(
    Metric(
        "multiclass_log_loss",
        "Multi-class log loss",
        True,
        "class_probabilities",
        frozenset({"binary", "multiclass"}),
        multiclass_log_loss,
        (0.0, 1.0),
    )
)
register(
    Metric("roc_auc", "Area under the ROC curve", False, "probability", frozenset({"binary"}), roc_auc, (0.0, 1.0))
)
