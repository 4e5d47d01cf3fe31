"""Do submissions that understand nothing stay below bronze?

Tried are constants, random draws, the sample submission and its shuffles, models of the identifier alone and of the row
number alone, and copies of the labels of (nearly) duplicated training rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sandmle.eval.acceptance._columns import decode, label_numbers, read_columns, standardise
from sandmle.eval.acceptance._evidence import DUMMY, Evidence
from sandmle.eval.acceptance._identifiers import identifier_features
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array, MetricUndefined

__all__ = ["fit_alone", "trivial"]

RANDOM_DRAWS = 5
DUPLICATE_DISTANCE = 0.01


@probe("trivial", stage=3)
def trivial(evidence: Evidence, calibration: Calibration) -> Finding:
    """Every trivial submission scores below the bronze threshold on the Private rows."""
    if calibration.thresholds is None:
        return Finding("no thresholds to compare with", {}, passed=False)
    bronze, sign = calibration.thresholds.bronze, calibration.sign
    best: dict[str, float] = {}
    for name, prediction in _submissions(evidence):
        try:
            better = sign * evidence.score(np.clip(prediction, *evidence.metric.domain))
        except MetricUndefined:
            continue
        best[name] = max(better, best.get(name, -np.inf))
    numbers = {name: sign * better for name, better in best.items()} | {"bronze": bronze}
    winners = [name for name, better in best.items() if better >= sign * bronze]
    if not winners:
        return Finding("", numbers, passed=True)
    worst = max(winners, key=lambda name: best[name])
    reason = f"a trivial submission ({worst}) scores {sign * best[worst]:.4g} and reaches bronze, {bronze:.4g}"
    return Finding(reason, numbers, passed=False)


def _submissions(evidence: Evidence) -> Iterator[tuple[str, Array]]:
    labels = label_numbers(evidence.train[evidence.target], evidence.submission)
    draw = evidence.generator("trivial")
    n_train, n_test = len(evidence.train), len(evidence.test)
    for constant in _constants(evidence, labels):
        yield "constant", np.repeat(constant[None], n_test, axis=0)
    for _ in range(RANDOM_DRAWS):
        yield "random", _random(evidence, labels, draw)
    sample = decode(evidence.sample, evidence.submission)
    yield "sample", sample
    for _ in range(RANDOM_DRAWS):
        yield "shuffled_sample", draw.permutation(sample)
    column = evidence.submission.id_column
    ids = identifier_features(pd.concat([evidence.train[column], evidence.test[column]], ignore_index=True))
    rows = np.concatenate([np.linspace(0, 1, n_train), np.linspace(0, 1, n_test)])[:, None]
    for name, features in (("identifier", ids), ("row_order", rows)):
        for prediction in fit_alone(evidence, standardise(features), labels):
            yield name, prediction
    yield "nearest_duplicate", _nearest_duplicate(evidence, labels)


def _constants(evidence: Evidence, labels: Array) -> list[Array]:
    """Constants that anyone can read off the training labels."""
    submission, k = evidence.submission, len(evidence.submission.classes)
    shares = np.bincount(labels.astype(np.int64), minlength=k) / len(labels) if k else labels
    if submission.kind == "label":
        return [np.array(float(index)) for index in range(k)]
    if submission.kind == "probability":
        return [np.array(shares[1]), np.array(0.5)]
    if submission.kind == "class_probabilities":
        return [shares, np.full(k, 1.0 / k)]
    return [np.array(value) for value in (labels.mean(), *np.quantile(labels, np.linspace(0.1, 0.9, 9)))]


def _random(evidence: Evidence, labels: Array, draw: np.random.Generator) -> Array:
    n_test = len(evidence.test)
    if evidence.submission.kind == "probability":
        return draw.random(n_test)
    if evidence.submission.kind == "class_probabilities":
        return draw.dirichlet(np.ones(len(evidence.submission.classes)), n_test)
    return draw.choice(labels, n_test)


def fit_alone(evidence: Evidence, features: Array, labels: Array) -> list[Array]:
    """Predictions for test of a linear model and of a small tree that see ``features`` alone.

    Args:
        evidence: the task.
        features: rows of train, then of test; shape (n_train + n_test, p).
        labels: training labels as class indices or numbers.
    """
    n_train, kind = len(labels), evidence.submission.kind
    seen, unseen = features[:n_train], features[n_train:]
    if kind == "number":
        trees = DecisionTreeRegressor(max_leaf_nodes=16, min_samples_leaf=5, random_state=0)
        return [model.fit(seen, labels).predict(unseen) for model in (Ridge(), trees)]
    found = []
    for model in (
        LogisticRegression(),
        DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=5, random_state=0),
    ):
        if len(np.unique(labels)) < 2:
            break
        model.fit(seen, labels)
        shares = np.zeros((len(unseen), len(evidence.submission.classes)))
        shares[:, model.classes_.astype(np.int64)] = model.predict_proba(unseen)
        by_kind = {"label": shares.argmax(axis=1).astype(np.float64), "probability": shares[:, 1]}
        found.append(by_kind.get(kind, shares))
    return found


def _nearest_duplicate(evidence: Evidence, labels: Array) -> Array:
    """The label of the nearest training row where it is within 0.01 standard deviations a column, else the dummy."""
    matrix = read_columns(evidence).matrix()
    prediction = np.array(evidence.predictions[DUMMY][0], dtype=np.float64)
    if not matrix.shape[1]:
        return prediction
    seen, unseen = matrix[: len(labels)], matrix[len(labels) :]
    distance, nearest = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(seen).kneighbors(unseen)
    copied = distance[:, 0] <= DUPLICATE_DISTANCE * np.sqrt(matrix.shape[1])
    source = labels[nearest[copied, 0]]
    if evidence.submission.kind == "class_probabilities":
        prediction[copied] = np.eye(len(evidence.submission.classes))[source.astype(np.int64)]
    else:
        prediction[copied] = source
    return prediction
