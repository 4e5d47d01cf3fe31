"""What the truth holds beyond its Bayes prediction: noise that no honest public column can tell of.

A Bayes-optimal prediction meets the first-order condition of its metric: some function of truth and prediction has mean
zero whatever the features are. That function is the residual. Where a metric only looks at an order, the prediction is
first put on the scale of the truth by isotonic regression.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.metrics import Array

__all__ = ["bayes_residual"]

SQUARED = frozenset({"rmse", "r2"})
QUANTILE = frozenset({"mae", "median_absolute_error"})
ORDER_ONLY = frozenset({"spearman", "pearson", "concordance"})


def bayes_residual(evidence: Evidence) -> Array | None:
    """Residuals of the hidden rows, shape (n_test, m); None where the metric has no known first-order condition.

    Probabilities: label less probability. Squared errors: truth less prediction; logarithmic ones: the same of
    ln(1 + x). Absolute and pinball errors: whether truth exceeds the prediction, centred. Relative absolute error: sign
    over size of the truth. Correlations: ranks of truth less their isotonic fit.
    """
    truth, bayes, kind = evidence.truth, evidence.bayes, evidence.kind
    if kind == "class_probabilities":
        return np.asarray(np.eye(bayes.shape[1])[truth.astype(np.int64)] - bayes, dtype=np.float64)
    if kind == "label_probabilities":
        return np.asarray(truth - bayes, dtype=np.float64)
    if kind == "probability":
        return np.asarray(truth - bayes, dtype=np.float64)[:, None]
    if kind == "number":
        residual = _number_residual(truth, bayes, evidence.metric.name)
        return None if residual is None else residual[:, None]
    return None


def _number_residual(truth: Array, bayes: Array, metric: str) -> Array | None:
    if metric in SQUARED:
        return truth - bayes
    if metric == "rmsle":
        return np.asarray(np.log1p(truth) - np.log1p(np.maximum(bayes, 0.0)), dtype=np.float64)
    if metric in QUANTILE or metric.startswith("pinball"):
        above = np.sign(truth - bayes)
        return np.asarray(above - above.mean(), dtype=np.float64)
    if metric == "mape":
        return np.asarray(np.sign(truth - bayes) / np.maximum(np.abs(truth), 1e-12), dtype=np.float64)
    if metric in ORDER_ONLY:
        ranks = np.asarray(pd.Series(truth).rank(), dtype=np.float64)
        return np.asarray(ranks - IsotonicRegression().fit(bayes, ranks).predict(bayes), dtype=np.float64)
    return None
