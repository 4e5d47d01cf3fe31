"""Can a classifier tell test rows from training rows?

Adversarial validation: a ridge classifier over columns, their squares and a fixed random basis of smooth functions is
cross-validated on the question "train or test"; its area under the ROC curve is compared with that on random splits.
One factorisation serves all splits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._columns import Columns, rank_columns, read_columns, standardise
from sandmle.eval.acceptance._context import draw_splits
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import LeakTest, Splits, conclude
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array

__all__ = ["adversarial"]

FOLDS = 5
MAX_COLUMNS = 60
BASIS = 60
PENALTY = 30.0
SENTENCES = {"adversarial": "a classifier tells test rows from training rows"}


@probe("adversarial", stage=4)
def adversarial(evidence: Evidence, calibration: Calibration) -> Finding:
    """The cross-validated AUC of train against test is what random splits give; declared columns are left out."""
    columns = read_columns(evidence).without(evidence.declared_shift)
    if not len(columns):
        return Finding("there is no column to tell train and test by", {}, passed=True)
    draw = evidence.generator("adversarial")
    splits = draw_splits(evidence, draw)
    scores = _cross_validated_auc(_basis(columns, draw), splits, draw.permutation(splits.in_train.shape[1]) % FOLDS)
    found = conclude({"adversarial": LeakTest(float(scores[0]), scores[1:])}, SENTENCES)
    return Finding(found.reason, {"auc": float(scores[0]), **found.numbers}, passed=found.passed)


def _basis(columns: Columns, draw: np.random.Generator) -> Array:
    """Ranked columns and levels, squares, and cosines of random projections; shape (rows, p)."""
    plain = standardise(columns.ranked().matrix())
    if plain.shape[1] > MAX_COLUMNS:
        plain = standardise(plain @ draw.normal(size=(plain.shape[1], MAX_COLUMNS)))
    scale = 1.0 / np.sqrt(plain.shape[1])
    waves = np.cos(plain @ draw.normal(scale=scale, size=(plain.shape[1], BASIS)) + draw.uniform(0, 2 * np.pi, BASIS))
    return standardise(np.hstack([plain, plain**2, waves]))


def _cross_validated_auc(basis: Array, splits: Splits, folds: NDArray[np.int64]) -> Array:
    """AUC of out-of-fold scores for every split, shape (splits,)."""
    side = splits.in_train.T.astype(np.float64)
    scores = np.empty(side.shape)
    for fold in range(FOLDS):
        seen = folds != fold
        target = side[seen] - side[seen].mean(axis=0)
        gram = basis[seen].T @ basis[seen] + PENALTY * np.eye(basis.shape[1])
        scores[~seen] = basis[~seen] @ np.linalg.solve(gram, basis[seen].T @ target)
    ranks = rank_columns(scores)
    positives = side.sum(axis=0)
    negatives = len(side) - positives
    return np.asarray(((ranks * side).sum(axis=0) - positives * (positives + 1) / 2) / (positives * negatives))
