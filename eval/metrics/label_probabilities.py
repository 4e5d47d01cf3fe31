"""Metrics of one predicted probability per label, of which any number may apply.

Truth is 0 or 1, predictions are in [0, 1]; both have shape (n, K), n >= 1.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.eval.metrics.probabilities import roc_auc
from sandmle.task import ProblemType

__all__ = ["label_log_losses", "label_ranking_precisions", "mean_column_auc"]

MULTILABEL: frozenset[ProblemType] = frozenset({"multilabel"})


def mean_column_auc(truth: Array, prediction: Array) -> float:
    """Mean over the labels of their ROC AUC, in [0, 1].

    Equals scikit-learn's ``roc_auc_score(average="macro")``.

    Raises:
        MetricUndefined: a label applies to all rows or to none.
    """
    return float(np.mean([roc_auc(truth[:, k], prediction[:, k]) for k in range(truth.shape[1])]))


def label_log_losses(truth: Array, prediction: Array) -> Array:
    """Mean over the labels of -ln(probability given to what is true) of each row, in nats.

    Probabilities are clipped to [eps, 1 - eps], eps = 2^-52, as in ``log_losses``.
    """
    eps = 2.0**-52
    given = np.where(truth == 1, prediction, 1.0 - prediction)
    return np.asarray(-np.log(np.clip(given, eps, 1.0 - eps)).mean(axis=1))


def label_ranking_precisions(truth: Array, prediction: Array) -> Array:
    """For each row, mean over its labels of the share of its labels among those ranked as high or higher, in (0, 1].

    1 for a row with no label or all of them. Tsoumakas et al. (2010); equals scikit-learn's
    ``label_ranking_average_precision_score``.
    """
    as_high = prediction[:, None, :] >= prediction[:, :, None]
    own = truth == 1
    precision = (as_high & own[:, None, :]).sum(axis=2) / as_high.sum(axis=2)
    sizes = own.sum(axis=1)
    return np.asarray(np.where(sizes > 0, (precision * own).sum(axis=1) / np.maximum(sizes, 1), 1.0))


register(
    Metric(
        name="label_ranking_average_precision",
        title="Label ranking average precision",
        lower_is_better=False,
        prediction="label_probabilities",
        problem_types=MULTILABEL,
        note="For each label that applies to a row it is the share of true labels among those with at least its"
        " probability in that row, averaged over the row's labels and then over the rows; it lies between 0 and 1, and"
        " a row without labels counts 1. Only the order of the probabilities within a row matters.",
        units=label_ranking_precisions,
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="mean_column_auc",
        title="Mean column-wise area under the ROC curve",
        lower_is_better=False,
        prediction="label_probabilities",
        problem_types=MULTILABEL,
        note="For each label it is the chance that a random row with the label gets a larger probability than a random"
        " row without it, ties counting half; the score is the unweighted mean over the labels, between 0 and 1.",
        whole=mean_column_auc,
        parts=(roc_auc,),
        domain=(0.0, 1.0),
    )
)
register(
    Metric(
        name="mean_column_log_loss",
        title="Mean column-wise log loss",
        lower_is_better=True,
        prediction="label_probabilities",
        problem_types=MULTILABEL,
        note="For each row and label it is the negative natural logarithm of the probability given to what is true,"
        " averaged over all rows and labels, 0 or more. Probabilities are clipped away from 0 and 1 first.",
        units=label_log_losses,
        domain=(0.0, 1.0),
    )
)
