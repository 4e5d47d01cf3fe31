"""Does anything public carry the noise of the hidden target, which nobody can know?"""

from __future__ import annotations

import numpy as np

from sandmle.eval.acceptance._columns import Columns, read_columns, standardise
from sandmle.eval.acceptance._context import id_features
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import conclude, place_features, residual_association
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance._residuals import bayes_residual
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array

__all__ = ["label_noise"]

SENTENCES = {"label_noise": "a public column carries the noise of the hidden target"}
TAIL = 0.1


@probe("label_noise", stage=4)
def label_noise(evidence: Evidence, calibration: Calibration) -> Finding:
    """Bayes residuals are uncorrelated with ranks and tails of all columns, with identifiers and with places.

    Columns also count less what the Bayes prediction explains of them, which is most of an honest one that is close to
    the target.
    """
    residual = bayes_residual(evidence)
    if residual is None:
        return Finding("no residual of known mean exists for this metric", {}, passed=True)
    n_train = len(evidence.train)
    shown = np.hstack([_shapes(read_columns(evidence))[n_train:], id_features(evidence)[n_train:]])
    bayes = evidence.bayes if evidence.bayes.ndim == 2 else evidence.bayes[:, None]
    features = np.hstack([shown, _unexplained(shown, bayes), place_features(len(evidence.test))])
    return conclude(
        {"label_noise": residual_association(features, residual, evidence.generator("label_noise"))}, SENTENCES
    )


def _shapes(columns: Columns) -> Array:
    """Ranks and both tails of every number, emptiness, and every level."""
    ranked = columns.ranked()
    tails = [
        np.column_stack([ranks <= np.nanquantile(ranks, TAIL), ranks >= np.nanquantile(ranks, 1 - TAIL)])
        for ranks in ranked.numeric.values()
        if not np.isnan(ranks).all()
    ]
    return np.hstack([ranked.matrix(), *tails]).astype(np.float64)


def _unexplained(table: Array, bayes: Array) -> Array:
    """Residuals of each column's regression on the ranks and values of the Bayes prediction."""
    order = np.argsort(np.argsort(bayes, axis=0), axis=0).astype(np.float64)
    design = np.hstack([np.ones((len(bayes), 1)), standardise(order), standardise(order) ** 2, standardise(bayes)])
    fitted = design @ np.linalg.lstsq(design, table, rcond=None)[0]
    return np.asarray(table - fitted, dtype=np.float64)
