"""Metrics of one predicted probability per class, of which one is true.

Truth is class indices of shape (n,), n >= 1; predictions are in [0, 1], shape (n, K). Each row is first divided by its
sum.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, register
from sandmle.eval.metrics.probabilities import roc_auc
from sandmle.task import ProblemType

__all__ = ["class_log_losses", "class_squared_gaps", "macro_roc_auc", "rescaled"]

CLASSES: frozenset[ProblemType] = frozenset({"binary", "multiclass", "ordinal"})


def rescaled(prediction: Array) -> Array:
    """Each row divided by its sum.

    Raises:
        MetricUndefined: the probabilities of a row sum to 0.
    """
    sums = prediction.sum(axis=1, keepdims=True)
    if not np.all(sums > 0.0):
        raise MetricUndefined("class probabilities: those of a row sum to 0")
    return np.asarray(prediction / sums)


def class_log_losses(truth: Array, prediction: Array) -> Array:
    """-ln(probability given to the true class) of each row, >= 0, in nats.

    Clipped to [eps, 1 - eps], eps = 2^-52, as Kaggle's hosts and scikit-learn's ``log_loss`` on normalised rows do.

    Raises:
        MetricUndefined: the probabilities of a row sum to 0.
    """
    eps = 2.0**-52
    given = rescaled(prediction)[np.arange(len(truth)), truth.astype(np.int64)]
    return np.asarray(-np.log(np.clip(given, eps, 1.0 - eps)))


def class_squared_gaps(truth: Array, prediction: Array) -> Array:
    """Sum over classes of (probability - [class is true])^2 of each row, in [0, 2]: Brier's (1950) original form.

    Raises:
        MetricUndefined: the probabilities of a row sum to 0.
    """
    gaps = rescaled(prediction)
    gaps[np.arange(len(truth)), truth.astype(np.int64)] -= 1.0
    return np.asarray((gaps**2).sum(axis=1))


def macro_roc_auc(truth: Array, prediction: Array) -> float:
    """Unweighted mean over the K classes of the ROC AUC of one class against the rest, in [0, 1].

    Equals scikit-learn's ``roc_auc_score(multi_class="ovr")``.

    Raises:
        MetricUndefined: a class does not occur in truth, or is the only one, or the probabilities of a row sum to 0.
    """
    scores = rescaled(prediction)
    areas = [roc_auc(np.where(truth == k, 1.0, 0.0), scores[:, k]) for k in range(scores.shape[1])]
    return float(np.mean(areas))


register(
    Metric(
        name="macro_roc_auc",
        title="Mean one-vs-rest area under the ROC curve",
        lower_is_better=False,
        prediction="class_probabilities",
        problem_types=CLASSES,
        note="For each class it is the chance that a random row of the class gets a larger probability for it than a"
        " random other row, ties counting half; the score is the unweighted mean over the classes, between 0 and 1."
        " The probabilities of a row are first rescaled to sum to 1.",
        whole=macro_roc_auc,
        parts=(roc_auc, rescaled),
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="multiclass_brier",
        title="Multi-class Brier score",
        lower_is_better=True,
        prediction="class_probabilities",
        problem_types=CLASSES,
        note="For each row the squared differences of the probabilities from 1 for the true class and 0 for the others"
        " are summed; the score is the mean over rows, between 0 and 2. The probabilities of a row are first rescaled"
        " to sum to 1.",
        units=class_squared_gaps,
        parts=(rescaled,),
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="multiclass_log_loss",
        title="Multi-class log loss",
        lower_is_better=True,
        prediction="class_probabilities",
        problem_types=CLASSES,
        note="It is the mean negative natural logarithm of the probability given to the true class, 0 or more. The"
        " probabilities of a row are rescaled to sum to 1, then clipped before the logarithm is taken.",
        units=class_log_losses,
        parts=(rescaled,),
        domain=(0.0, 1.0),
    )
)
