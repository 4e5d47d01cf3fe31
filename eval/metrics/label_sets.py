"""Metrics of predicted sets of labels.

Truth and prediction are 0 or 1 of shape (n, K), n >= 1: which labels a row has.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["micro_f1", "sample_f1s", "set_overlaps"]

MULTILABEL: frozenset[ProblemType] = frozenset({"multilabel"})


def set_overlaps(truth: Array, prediction: Array) -> Array:
    """|true and predicted| / |true or predicted| of each row, in [0, 1]; 1 where both are empty (Jaccard 1901)."""
    both = (truth * prediction).sum(axis=1)
    either = np.maximum(truth, prediction).sum(axis=1)
    return np.asarray(np.where(either > 0, both / np.maximum(either, 1.0), 1.0))


def sample_f1s(truth: Array, prediction: Array) -> Array:
    """2 |true and predicted| / (|true| + |predicted|) of each row, in [0, 1]; 1 where both are empty."""
    both = (truth * prediction).sum(axis=1)
    sizes = truth.sum(axis=1) + prediction.sum(axis=1)
    return np.asarray(np.where(sizes > 0, 2.0 * both / np.maximum(sizes, 1.0), 1.0))


def micro_f1(truth: Array, prediction: Array) -> float:
    """2 TP / (2 TP + FP + FN) over all labels of all rows, in [0, 1]; 1 where none is true or predicted anywhere."""
    sizes = float(truth.sum() + prediction.sum())
    return 2.0 * float((truth * prediction).sum()) / sizes if sizes else 1.0


register(
    Metric(
        name="jaccard",
        title="Mean Jaccard index",
        lower_is_better=False,
        prediction="label_set",
        problem_types=MULTILABEL,
        note="For each row it is the number of labels that are both true and predicted over the number that are either;"
        " the score is the mean over rows, between 0 and 1. A row where both sets are empty counts 1.",
        units=set_overlaps,
    )
)
register(
    Metric(
        name="micro_f1",
        title="Micro-averaged F1 score",
        lower_is_better=False,
        prediction="label_set",
        problem_types=MULTILABEL,
        note="It is the harmonic mean of precision and recall over all labels of all rows taken together, between 0"
        " and 1.",
        whole=micro_f1,
    )
)
register(
    Metric(
        name="sample_f1",
        title="Sample-averaged F1 score",
        lower_is_better=False,
        prediction="label_set",
        problem_types=MULTILABEL,
        note="For each row it is the harmonic mean of precision and recall of its predicted labels; the score is the"
        " mean over rows, between 0 and 1. A row where both sets are empty counts 1.",
        units=sample_f1s,
    )
)
