"""Does a column help to beat the Bayes prediction? From honest columns nothing can.

This needs no residual: where a metric has none of known mean, a prediction is stacked from the Bayes act and one
column, cross-fitted on the hidden rows themselves, and its score compared with that of the Bayes act by a paired
bootstrap.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._bootstrap import resampled_scores
from sandmle.eval.acceptance._columns import standardise
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._stand_ins import top_classes
from sandmle.eval.metrics import Array

__all__ = ["Z_BEATEN", "advantage_over_bayes"]

FOLDS = 5
PENALTY = 5.0
RESAMPLES = 200
Z_BEATEN = 4.0


def advantage_over_bayes(
    evidence: Evidence, columns: Mapping[str, Array], draw: np.random.Generator
) -> tuple[str, float] | None:
    """The column that helps most, and by how many bootstrap standard deviations its stack beats the Bayes act.

    Args:
        evidence: the task.
        columns: features of the hidden rows by name, each of shape (n_test, q).
        draw: generator of folds and resamples.

    Returns:
        None for texts and masks, which can't be stacked so, and where there is no column or no score.
    """
    forms = _forms(evidence)
    if forms is None or not columns:
        return None
    target, act = forms
    units = evidence.truth[:, 1].astype(np.int64) if evidence.kind == "relevance" else np.arange(len(target))
    folds = (draw.permutation(int(units.max()) + 1) % FOLDS)[units]
    stacks = [_as_act(_cross_fit(_design(act, table), target, folds), evidence) for table in columns.values()]
    observed, drawn = resampled_scores(evidence, [evidence.bayes, *stacks], RESAMPLES, draw)
    if len(drawn) < 2:
        return None
    gain = evidence.sign * (observed[1:] - observed[0])
    spread = (drawn[:, 1:] - drawn[:, :1]).std(axis=0, ddof=1)
    z = gain / np.where(spread > 0, spread, np.inf)
    best = int(z.argmax())
    return list(columns)[best], float(z[best])


def _forms(evidence: Evidence) -> tuple[Array, Array] | None:
    """Truth and Bayes act as matrices, rows of the hidden test; None where there are no such."""
    truth, bayes, k = evidence.truth, evidence.bayes, len(evidence.submission.classes)
    if evidence.kind == "label":
        return np.eye(k)[truth.astype(np.int64)], np.eye(k)[bayes.astype(np.int64)]
    if evidence.kind == "ranked_labels":
        places = 1.0 / (1.0 + np.argmax(bayes[:, :, None] == np.arange(k), axis=1))
        return np.eye(k)[truth.astype(np.int64)], np.where((bayes[:, :, None] == np.arange(k)).any(axis=1), places, 0.0)
    if evidence.kind == "label_set":
        return np.asarray(truth, dtype=np.float64), np.asarray(bayes, dtype=np.float64)
    if evidence.kind in ("relevance", "number"):
        plain = standardise(np.asarray(bayes, dtype=np.float64)[:, None])
        return truth.reshape(len(truth), -1)[:, :1].astype(np.float64), np.hstack([plain, plain**2])
    return None


def _design(act: Array, table: Array) -> Array:
    """Intercept, act, column, and products of both."""
    column = standardise(table)
    products = (act[:, :, None] * column[:, None, :]).reshape(len(act), -1)
    return np.hstack([np.ones((len(act), 1)), act, column, products])


def _cross_fit(design: Array, target: Array, folds: NDArray[np.int64]) -> Array:
    fitted = np.empty_like(target)
    for fold in range(FOLDS):
        seen = folds != fold
        gram = design[seen].T @ design[seen] + PENALTY * np.eye(design.shape[1])
        fitted[~seen] = design[~seen] @ np.linalg.solve(gram, design[seen].T @ target[seen])
    return fitted


def _as_act(fitted: Array, evidence: Evidence) -> Array:
    if evidence.kind == "label":
        return np.asarray(fitted.argmax(axis=1), dtype=np.float64)
    if evidence.kind == "ranked_labels":
        return np.asarray(top_classes(fitted, evidence.submission), dtype=np.float64)
    if evidence.kind == "label_set":
        return np.asarray(fitted >= 0.5, dtype=np.float64)
    return np.asarray(np.clip(fitted[:, 0], *evidence.metric.domain), dtype=np.float64)
