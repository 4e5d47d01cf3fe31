"""Metrics of predicted rankings of labels, of which one is true.

Truth is class indices of shape (n,), n >= 1; predictions are class indices of shape (n, top), the likeliest first and
padded with -1.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["precisions_at", "precisions_at_3", "precisions_at_5"]

MULTICLASS: frozenset[ProblemType] = frozenset({"multiclass"})


def precisions_at(truth: Array, prediction: Array, places: int) -> Array:
    """1 / (rank of the true label) of each row if it is among the first ``places``, else 0.

    With one true label a row, this is the average precision at ``places`` as Kaggle defines it.
    """
    hits = prediction[:, :places] == truth[:, None]
    return np.asarray(np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1.0), 0.0))


def precisions_at_3(truth: Array, prediction: Array) -> Array:
    """Average precision of each row at 3 places."""
    return precisions_at(truth, prediction, 3)


def precisions_at_5(truth: Array, prediction: Array) -> Array:
    """Average precision of each row at 5 places."""
    return precisions_at(truth, prediction, 5)


for _places, _units in ((3, precisions_at_3), (5, precisions_at_5)):
    register(
        Metric(
            name=f"map_at_{_places}",
            title=f"Mean average precision at {_places}",
            lower_is_better=False,
            prediction="ranked_labels",
            problem_types=MULTICLASS,
            note="A row counts one over the place of the true label in the submitted ranking, and 0 if it is not among"
            f" the first {_places} labels; the score is the mean over rows, between 0 and 1.",
            units=_units,
            parts=(precisions_at,),
        )
    )
