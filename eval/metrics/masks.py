"""Metrics of predicted masks.

Truth and prediction are 0 or 1 of shape (n, pixels), n >= 1: which pixels of an image belong to the object.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["dices", "ious"]

SEGMENTATION: frozenset[ProblemType] = frozenset({"segmentation"})


def dices(truth: Array, prediction: Array) -> Array:
    """2 |true and predicted| / (|true| + |predicted|) of each image, in [0, 1]; 1 where both are empty (Dice 1945)."""
    both = np.einsum("ij,ij->i", truth, prediction)
    sizes = truth.sum(axis=1) + prediction.sum(axis=1)
    return np.asarray(np.where(sizes > 0, 2.0 * both / np.maximum(sizes, 1.0), 1.0))


def ious(truth: Array, prediction: Array) -> Array:
    """|true and predicted| / |true or predicted| of each image, in [0, 1]; 1 where both are empty."""
    both = np.einsum("ij,ij->i", truth, prediction)
    either = truth.sum(axis=1) + prediction.sum(axis=1) - both
    return np.asarray(np.where(either > 0, both / np.maximum(either, 1.0), 1.0))


register(
    Metric(
        name="dice",
        title="Mean Dice index",
        lower_is_better=False,
        prediction="mask",
        problem_types=SEGMENTATION,
        note="For each image it is twice the number of pixels that are both true and predicted, over the number of true"
        " plus the number of predicted pixels; the score is the mean over images, between 0 and 1. An image where both"
        " masks are empty counts 1.",
        units=dices,
    )
)
register(
    Metric(
        name="iou",
        title="Mean intersection over union",
        lower_is_better=False,
        prediction="mask",
        problem_types=SEGMENTATION,
        note="For each image it is the number of pixels that are both true and predicted, over the number that are"
        " either; the score is the mean over images, between 0 and 1. An image where both masks are empty counts 1.",
        units=ious,
    )
)
