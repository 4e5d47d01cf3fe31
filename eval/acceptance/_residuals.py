"""What the truth holds beyond its Bayes prediction: noise that no honest public column can tell of.

A Bayes-optimal prediction meets the first-order condition of its metric: some function of truth and prediction has mean
zero whatever the features are. That function is the residual. Where a metric only looks at an order, the prediction is
first put on the scale of the truth by isotonic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.metrics import Array, Values

__all__ = ["Residual", "bayes_residual"]

SQUARED = frozenset({"rmse", "r2"})
QUANTILE = frozenset({"mae", "median_absolute_error"})
ORDER_ONLY = frozenset({"spearman", "pearson", "concordance"})


@dataclass(frozen=True)
class Residual:
    """Residuals with mean zero given the features.

    Attributes:
        values: shape (n, m).
        variance: their conditional variance where it is known, else their squares; shape (n, m).
        shares: probabilities of the m classes or labels of each row, where that is what the residuals are of.
        exclusive: whether exactly one class applies.
    """

    values: Array
    variance: Array
    shares: Array | None = None
    exclusive: bool = False

    @classmethod
    def of_shares(cls, truth: Array, shares: Array, *, exclusive: bool) -> Residual:
        """Residuals of 0/1 labels, shape (n, m), from their probabilities."""
        return cls(truth - shares, shares * (1.0 - shares), shares, exclusive)

    @classmethod
    def of_numbers(cls, values: Array) -> Residual:
        """Residuals of unknown variance."""
        table = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        return cls(table, table**2)

    def redraw(self, draw: np.random.Generator) -> Array:
        """Residuals of labels drawn anew from their probabilities; where there are none, with random signs."""
        if self.shares is None:
            signs = draw.choice([-1.0, 1.0], len(self.values))[:, None]
            return np.asarray(self.values * signs, dtype=np.float64)
        if not self.exclusive:
            return np.asarray((draw.random(self.shares.shape) < self.shares) - self.shares, dtype=np.float64)
        limits = self.shares.cumsum(axis=1)[:, :-1]
        drawn = (draw.random(len(self.shares))[:, None] > limits).sum(axis=1)
        return np.asarray(np.eye(self.shares.shape[1])[drawn] - self.shares, dtype=np.float64)


def bayes_residual(evidence: Evidence) -> Residual | None:
    """Residuals of the hidden rows; None where the metric has no known first-order condition.

    Probabilities: label less probability. Squared errors: truth less prediction; logarithmic ones: the same of
    ln(1 + x). Absolute and pinball errors: whether truth exceeds the prediction, less how often it does. Relative
    absolute error: sign over size of the truth. Correlations: ranks of truth less their isotonic fit. Where the
    evidence holds the rule's expectation, truth less that, for any kind but text; of a mask its pixels.
    """
    truth, bayes, kind = evidence.truth, evidence.bayes, evidence.kind
    if evidence.expectation is not None and kind != "text":
        return _less_expectation(truth, evidence.expectation, evidence)
    if kind in ("class_probabilities", "probability"):
        return _of_classes(truth, bayes)
    if kind == "label_probabilities":
        return Residual.of_shares(truth, bayes, exclusive=False)
    if kind == "number" and (evidence.metric.name in QUANTILE or evidence.metric.name.startswith("pinball")):
        above = np.asarray(truth > bayes, dtype=np.float64)[:, None]
        return Residual.of_shares(above, np.full_like(above, above.mean()), exclusive=False)
    if kind == "number":
        residual = _number_residual(truth, bayes, evidence.metric.name)
        return None if residual is None else Residual.of_numbers(residual)
    return None


def _of_classes(truth: Values, shares: Values) -> Residual:
    """Class indices less probabilities of shape (n, K), or (n,) for class 1 of two."""
    if shares.ndim == 1:
        return Residual.of_shares(truth[:, None], shares[:, None], exclusive=False)
    return Residual.of_shares(np.eye(shares.shape[1])[truth.astype(np.int64)], shares, exclusive=True)


def _less_expectation(truth: Values, expectation: Values, evidence: Evidence) -> Residual:
    if evidence.submission.classes:
        if truth.ndim == 1:
            return _of_classes(truth, expectation)
        return Residual.of_shares(truth, expectation, exclusive=False)
    if evidence.kind == "relevance":
        return Residual.of_numbers(truth[:, 0] - expectation)
    if evidence.submission.mask_shape is None:
        return Residual.of_numbers(truth - expectation)
    return Residual.of_numbers(truth.sum(axis=1) - expectation)


def _number_residual(truth: Array, bayes: Array, metric: str) -> Array | None:
    if metric in SQUARED:
        return truth - bayes
    if metric == "rmsle":
        return np.asarray(np.log1p(truth) - np.log1p(np.maximum(bayes, 0.0)), dtype=np.float64)
    if metric == "mape":
        return np.asarray(np.sign(truth - bayes) / np.maximum(np.abs(truth), 1e-12), dtype=np.float64)
    if metric in ORDER_ONLY:
        ranks = np.asarray(pd.Series(truth).rank(), dtype=np.float64)
        return np.asarray(ranks - IsotonicRegression().fit(bayes, ranks).predict(bayes), dtype=np.float64)
    return None
