"""How metrics judge out-of-fold predictions, for thresholds, corrections and choices; smaller is better."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score, f1_score, matthews_corrcoef

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["label_loss", "number_loss", "set_loss"]


def label_loss(metric: str, truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Loss of class indices; accuracy unless the name says otherwise."""
    if metric == "f1":
        return -float(f1_score(truth == 1, predicted == 1, zero_division=0.0))
    if "f1" in metric or "f_score" in metric:
        return -float(f1_score(truth, predicted, average="micro" if "micro" in metric else "macro", zero_division=0.0))
    if "mcc" in metric or "matthews" in metric:
        return -float(matthews_corrcoef(truth, predicted))
    if "kappa" in metric:
        return -float(cohen_kappa_score(truth, predicted, weights="linear" if "linear" in metric else "quadratic"))
    if "balanced" in metric:
        return -float(np.mean([np.mean(predicted[truth == k] == k) for k in np.unique(truth)]))
    if "mae" in metric or "absolute" in metric:
        return float(np.abs(truth - predicted).mean())
    return -float(np.mean(truth == predicted))


def number_loss(metric: str, truth: Array, predicted: Array, quantile: float) -> float | None:
    """Loss of numbers; None where a squared error serves, or where only their order counts."""
    error = truth - predicted
    if "pinball" in metric or "quantile" in metric:
        return float(np.maximum(quantile * error, (quantile - 1) * error).mean())
    if "smape" in metric:
        return float(np.mean(np.abs(error) / np.maximum(np.abs(truth) + np.abs(predicted), 1e-9)))
    if "rmspe" in metric:
        return float(np.sqrt(np.mean((error / np.maximum(np.abs(truth), 1e-9)) ** 2)))
    if "mape" in metric:
        return float(np.mean(np.abs(error) / np.maximum(np.abs(truth), 1e-9)))
    if "mae" in metric or "absolute" in metric or "mase" in metric:
        return float(np.abs(error).mean())
    return None


def set_loss(metric: str, truth: Array, predicted: Array) -> float:
    """Loss of label sets of shape (n, K), 0/1: Jaccard, F1 by rows or labels, exact match, or single labels."""
    both, either = (truth * predicted).sum(axis=1), np.maximum(truth, predicted).sum(axis=1)
    sizes = truth.sum(axis=1) + predicted.sum(axis=1)
    if "jaccard" in metric:
        return -float(np.where(either > 0, both / np.maximum(either, 1), 1.0).mean())
    if "macro" in metric or "label" in metric:
        columns = truth.sum(axis=0) + predicted.sum(axis=0)
        shared = 2 * (truth * predicted).sum(axis=0)
        return -float(np.where(columns > 0, shared / np.maximum(columns, 1), 1.0).mean())
    if "micro" in metric:
        return -float(2 * both.sum() / max(sizes.sum(), 1))
    if "f1" in metric or "f_score" in metric or "dice" in metric:
        return -float(np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0).mean())
    if "exact" in metric or "subset" in metric or metric == "accuracy":
        return -float((truth == predicted).all(axis=1).mean())
    return -float((truth == predicted).mean())
