"""Metrics of the predicted probability of class 1.

Truth is class indices 0 and 1 of shape (n,), n >= 1; predictions are in [0, 1], shape (n,).
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register
from sandmle.task import ProblemType

__all__ = ["average_precision", "gini", "log_losses", "roc_auc", "squared_gaps"]

BINARY: frozenset[ProblemType] = frozenset({"binary"})


def log_losses(truth: Array, prediction: Array) -> Array:
    """-ln(probability given to the true class) of each row, >= 0, in nats.

    Probabilities are clipped to [eps, 1 - eps], eps = 2^-52, as in scikit-learn's ``log_loss`` for float64. Defined
    also where one class only occurs.
    """
    eps = 2.0**-52
    given = np.where(truth == 1, prediction, 1.0 - prediction)
    return np.asarray(-np.log(np.clip(given, eps, 1.0 - eps)))


def squared_gaps(truth: Array, prediction: Array) -> Array:
    """(t - p)^2 of each row, in [0, 1]; its mean is Brier's score in the form that binary problems use."""
    return np.asarray((truth - prediction) ** 2)


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


def gini(truth: Array, prediction: Array) -> float:
    """2 AUC - 1, in [-1, 1]; 0 for a constant prediction.

    Raises:
        MetricUndefined: one class only occurs in truth.
    """
    return 2.0 * roc_auc(truth, prediction) - 1.0


def average_precision(truth: Array, prediction: Array) -> float:
    """Sum over thresholds of (recall gained) x (precision there), in (0, 1]; no interpolation.

    Rows of equal prediction pass a threshold together. Equals scikit-learn's ``average_precision_score``.

    Raises:
        MetricUndefined: class 1 does not occur in truth.
    """
    order = np.argsort(-prediction, kind="stable")
    ranked = prediction[order]
    group_ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    hits = np.cumsum(truth[order] == 1)[group_ends].astype(np.float64)
    if hits[-1] == 0.0:
        raise MetricUndefined("average precision: class 1 does not occur in these rows")
    return float(np.diff(hits, prepend=0.0) @ (hits / (group_ends + 1.0)) / hits[-1])


register(
    Metric(
        name="average_precision",
        title="Average precision",
        lower_is_better=False,
        prediction="probability",
        problem_types=BINARY,
        note="It is the area under the precision-recall curve, taken in steps: precision averaged over all thresholds,"
        " weighted with the recall that each adds. It lies between 0 and 1, and only the order of the submitted"
        " probabilities matters.",
        whole=average_precision,
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="brier",
        title="Brier score",
        lower_is_better=True,
        prediction="probability",
        problem_types=BINARY,
        note="It is the mean squared difference of the submitted probability from the outcome, which is 1 or 0; it lies"
        " between 0 and 1.",
        units=squared_gaps,
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="gini",
        title="Normalized Gini index",
        lower_is_better=False,
        prediction="probability",
        problem_types=BINARY,
        note="It is twice the ROC AUC minus one: 1 for a perfect order, 0 for a random or constant one, -1 for the"
        " reverse. Only the order of the submitted probabilities matters.",
        whole=gini,
        parts=(roc_auc,),
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="log_loss",
        title="Log loss",
        lower_is_better=True,
        prediction="probability",
        problem_types=BINARY,
        note="It is the mean negative natural logarithm of the probability given to the true class, 0 or more."
        " Probabilities are clipped away from 0 and 1 before the logarithm is taken.",
        units=log_losses,
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="roc_auc",
        title="Area under the ROC curve",
        lower_is_better=False,
        prediction="probability",
        problem_types=BINARY,
        note="It is the chance that a random positive row gets a larger probability than a random negative one, ties"
        " counting half; it lies between 0 and 1, and only the order of the submitted probabilities matters.",
        whole=roc_auc,
        domain=(0.0, 1.0),
    )
)
