"""Does anything but the features' rule give the labels away, and do train and test come from one population?

The audit looks at identifiers, the order of rows in train and in test, rows that stand in both, columns that carry the
label's own noise, a single column that beats the informed rung, and shifts of features or labels from train to test.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sandmle.eval.acceptance._columns import Columns, label_numbers, read_columns, standardise
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._identifiers import identifier_features
from sandmle.eval.acceptance._nulls import (
    LeakTest,
    association,
    duplicates,
    one_hot,
    place_features,
    residual_association,
    shift,
)
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.acceptance.trivial import fit_alone
from sandmle.eval.metrics import Array, MetricUndefined

__all__ = ["leakage"]

SENTENCES = {
    "identifiers": "the identifier tells of the target",
    "train_order": "the order of the training rows tells of the target",
    "test_order": "the order of the test rows tells of the hidden target",
    "duplicates": "rows of train stand in test again",
    "label_noise": "a public column carries the noise of the hidden target",
    "feature_shift": "features differ between train and test",
    "label_shift": "the target differs between train and test",
}


@probe("leakage", stage=4)
def leakage(evidence: Evidence, calibration: Calibration) -> Finding:
    """No test of the audit alarms, no identifier stands in train and test, and no column alone beats informed."""
    columns = read_columns(evidence)
    tests = _tests(evidence, columns)
    reasons = [f"{SENTENCES[name]} (z={test.z:.1f})" for name, test in tests.items() if test.alarm]
    numbers = {f"{name}_z": test.z for name, test in tests.items()} | {
        f"{name}_p": test.p for name, test in tests.items()
    }
    shared = _shared_identifiers(evidence)
    numbers["shared_identifiers"] = float(shared)
    if shared:
        reasons.append(f"{shared} identifiers stand in train and in test")
    name, alone = _best_column(evidence, columns)
    if name:
        numbers["best_column"] = evidence.sign * alone
    if alone > calibration.informed:
        scores = f"{evidence.sign * alone:.4g} against informed {evidence.sign * calibration.informed:.4g}"
        reasons.append(f"the column {name!r} alone gives the target away ({scores})")
    return Finding("; ".join(reasons), numbers, passed=not reasons)


def _tests(evidence: Evidence, columns: Columns) -> dict[str, LeakTest]:
    labels = label_numbers(evidence.train[evidence.target], evidence.submission)
    n_train, n_test = len(labels), len(evidence.truth)
    both = np.concatenate([labels, evidence.truth])
    in_train = np.arange(n_train + n_test) < n_train
    outcome = _outcome(evidence, both)
    draw = evidence.generator("leakage")
    ids = evidence.submission.id_column
    id_features = identifier_features(pd.concat([evidence.train[ids], evidence.test[ids]], ignore_index=True))
    found = {"identifiers": association(id_features, outcome, in_train, draw, neighbours=False)}
    for name, rows in (("train_order", in_train), ("test_order", ~in_train)):
        places, everyone = place_features(int(rows.sum())), np.ones(int(rows.sum()), dtype=np.bool_)
        found[name] = association(places, outcome[rows], everyone, draw, neighbours=True)
    if columns.numeric or columns.codes:
        found["duplicates"] = duplicates(columns.matrix(), n_train, draw)
        found["feature_shift"] = _feature_shift(columns, draw)
    residual = _residual(evidence)
    if residual is not None:
        shown = [_ranked(columns)[n_train:], id_features[n_train:], place_features(n_test)]
        found["label_noise"] = residual_association(np.hstack(shown), residual, draw)
    if evidence.submission.classes:
        found["label_shift"] = shift([], [both.astype(np.int64)], n_train, draw)
    else:
        found["label_shift"] = shift([both], [], n_train, draw)
    return found


def _outcome(evidence: Evidence, labels: Array) -> Array:
    """Labels as columns that a correlation can be taken of: class indicators, or ranks of a number."""
    if evidence.submission.classes:
        return one_hot(labels)
    return _ranks(labels)[:, None]


def _ranked(columns: Columns) -> Array:
    """The feature matrix with every numeric column replaced by its ranks, so that no outlier decides."""
    ranks = {name: _ranks(values) for name, values in columns.numeric.items()}
    return Columns(columns.n_train, ranks, columns.codes).matrix()


def _ranks(values: Array) -> Array:
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


def _residual(evidence: Evidence) -> Array | None:
    """Truth less its Bayes prediction, shape (n_test, m), where that has mean zero given the features; else None."""
    truth, bayes, name = evidence.truth, evidence.bayes, evidence.metric.name
    if evidence.submission.kind == "probability" or name in ("rmse", "r2"):
        return (truth - bayes)[:, None]
    if evidence.submission.kind == "class_probabilities":
        return np.asarray(np.eye(bayes.shape[1])[truth.astype(np.int64)] - bayes, dtype=np.float64)
    if name == "mae":
        return np.sign(truth - bayes)[:, None]
    if name == "rmsle":
        return (np.log1p(truth) - np.log1p(np.maximum(bayes, 0.0)))[:, None]
    return None


def _feature_shift(columns: Columns, draw: np.random.Generator) -> LeakTest:
    empty = [np.isnan(values).astype(np.int64) for values in columns.numeric.values() if np.isnan(values).any()]
    return shift(list(columns.numeric.values()), [*columns.codes.values(), *empty], columns.n_train, draw)


def _shared_identifiers(evidence: Evidence) -> int:
    ids = evidence.submission.id_column
    return int(evidence.test[ids].astype(str).isin(set(evidence.train[ids].astype(str))).sum())


def _best_column(evidence: Evidence, columns: Columns) -> tuple[str, float]:
    """The column that predicts best alone, and its score on the Private rows (better is larger)."""
    labels = label_numbers(evidence.train[evidence.target], evidence.submission)
    best, score = "", -np.inf
    names = [*columns.numeric, *columns.codes]
    for name in names:
        alone = Columns(
            columns.n_train,
            {name: columns.numeric[name]} if name in columns.numeric else {},
            {name: columns.codes[name]} if name in columns.codes else {},
        )
        for prediction in fit_alone(evidence, standardise(alone.matrix()), labels):
            try:
                better = evidence.sign * evidence.score(np.clip(prediction, *evidence.metric.domain))
            except MetricUndefined:
                continue
            if better > score:
                best, score = name, better
    return best, score
