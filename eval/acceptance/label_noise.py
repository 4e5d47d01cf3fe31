"""Does anything public carry the noise of the hidden target, which nobody can know?"""

from __future__ import annotations

import numpy as np

from sandmle.eval.acceptance._above_bayes import Z_BEATEN, advantage_over_bayes
from sandmle.eval.acceptance._columns import Columns, read_columns, standardise
from sandmle.eval.acceptance._context import id_features
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._labels import outcome, read_target
from sandmle.eval.acceptance._nulls import conclude, place_features, residual_association
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance._residuals import bayes_residual
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.acceptance.lone_column import closest_columns
from sandmle.eval.metrics import Array

__all__ = ["label_noise"]

SENTENCES = {"label_noise": "a public column carries the noise of the hidden target"}
TAIL = 0.1
ROUNDING = 1e-9
"""What least squares leave of a column that is explained whole, relative to its largest number."""


@probe("label_noise", stage=4)
def label_noise(evidence: Evidence, calibration: Calibration) -> Finding:
    """Bayes residuals are uncorrelated with ranks and tails of all columns, with identifiers and with places.

    Columns also count less what the Bayes prediction explains of them, which is most of an honest one that is close to
    the target. Where a metric has no residual of known mean, no column may help to beat the Bayes prediction.
    """
    residual = bayes_residual(evidence)
    if residual is None:
        return _compare_with_bayes(evidence)
    n_train = len(evidence.train)
    shown = np.hstack([_shapes(read_columns(evidence))[n_train:], id_features(evidence)[n_train:]])
    bayes = evidence.bayes if evidence.bayes.ndim == 2 else evidence.bayes[:, None]
    features = np.hstack([shown, _unexplained(shown, bayes), place_features(len(evidence.test))])
    return conclude(
        {"label_noise": residual_association(features, residual, evidence.generator("label_noise"))}, SENTENCES
    )


def _compare_with_bayes(evidence: Evidence) -> Finding:
    columns = read_columns(evidence)
    labels = outcome(read_target(evidence.train, evidence.target, evidence.submission), evidence.submission)
    tables = {name: _shapes(columns.only(name))[columns.n_train :] for name in closest_columns(columns, labels)}
    best = advantage_over_bayes(evidence, tables, evidence.generator("label_noise"))
    if best is None:
        return Finding("neither a residual nor a stack is known for this kind of prediction", {}, passed=True)
    name, z = best
    if z <= Z_BEATEN:
        return Finding("", {"above_bayes_z": z}, passed=True)
    reason = f"{SENTENCES['label_noise']}: with {name!r} the Bayes score is beaten (z={z:.1f})"
    return Finding(reason, {"above_bayes_z": z}, passed=False)


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
    """Residuals of each column's regression on the ranks and values of the Bayes prediction.

    Of a column that they explain whole, rounding errors are left; it counts as 0, or they would be taken for data.
    """
    order = np.argsort(np.argsort(bayes, axis=0), axis=0).astype(np.float64)
    design = np.hstack([np.ones((len(bayes), 1)), standardise(order), standardise(order) ** 2, standardise(bayes)])
    fitted = design @ np.linalg.lstsq(design, table, rcond=None)[0]
    left = table - fitted
    varies = left.std(axis=0) > ROUNDING * np.abs(table).max(axis=0, initial=0.0)
    return np.asarray(np.where(varies, left, 0.0), dtype=np.float64)
