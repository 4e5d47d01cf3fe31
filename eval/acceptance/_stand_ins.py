"""Predictions for every kind of submission from any matrix of features, and from no features at all.

They stand in for a submission that understands nothing: each is as simple as the kind allows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._labels import LABEL_MATRIX, ONE_CLASS, PADDING
from sandmle.eval.metrics import Array, MetricUndefined, Values
from sandmle.task import SubmissionFormat

__all__ = ["as_predictions", "better_score", "constants", "fit_alone", "random_predictions", "top_classes"]

QUANTILES = np.linspace(0.1, 0.9, 9)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
TREE = {"max_leaf_nodes": 16, "min_samples_leaf": 5, "random_state": 0}
CLIPPED = frozenset({"number", "relevance", "probability", "class_probabilities", "label_probabilities"})


def better_score(evidence: Evidence, prediction: Values) -> float | None:
    """Private score with better as larger, numbers moved into the metric's domain; None where it is undefined."""
    inside = np.clip(prediction, *evidence.metric.domain) if evidence.kind in CLIPPED else prediction
    try:
        return evidence.sign * evidence.score(inside)
    except MetricUndefined:
        return None


def as_predictions(labels: Values, submission: SubmissionFormat) -> Values:
    """Labels in truth form as the prediction of someone who is sure of them."""
    k = len(submission.classes)
    if submission.kind == "relevance":
        return labels[:, 0] if labels.ndim == 2 else labels
    if submission.kind == "class_probabilities":
        return np.asarray(np.eye(k)[labels.astype(np.int64)])
    if submission.kind == "ranked_labels":
        return top_classes(np.asarray(np.eye(k)[labels.astype(np.int64)]), submission)
    return labels


def constants(labels: Values, submission: SubmissionFormat) -> list[Values]:
    """Predictions for one row that anyone can read off the training labels."""
    kind, k = submission.kind, len(submission.classes)
    if kind in ONE_CLASS:
        shares = np.bincount(labels.astype(np.int64), minlength=k) / len(labels)
        by_kind = {
            "label": [np.array(float(index)) for index in range(k)],
            "probability": [np.array(shares[1]), np.array(0.5)],
            "class_probabilities": [shares, np.full(k, 1.0 / k)],
        }
        return by_kind[kind] if kind in by_kind else [top_classes(shares[None], submission)[0]]
    if kind == "label_probabilities":
        return [labels.mean(axis=0), np.full(k, 0.5)]
    if kind == "label_set" or submission.mask_shape:
        shares = labels.mean(axis=0)
        sets = [shares >= limit for limit in (*SHARES, shares.max())]
        return [np.zeros(len(shares)), np.ones(len(shares)), *(chosen.astype(np.float64) for chosen in sets)]
    if kind == "text":
        texts, counts = np.unique(labels, return_counts=True)
        return [np.array(texts[counts.argmax()]), np.array("")]
    values = as_predictions(labels, submission)
    return [np.array(value) for value in (values.mean(), *np.quantile(values, QUANTILES))]


def random_predictions(labels: Values, submission: SubmissionFormat, n: int, draw: np.random.Generator) -> Values:
    """``n`` predictions drawn blindly: uniform probabilities, random orders, or labels of random training rows."""
    kind, k = submission.kind, len(submission.classes)
    if kind == "probability":
        return draw.random(n)
    if kind == "class_probabilities":
        return draw.dirichlet(np.ones(k), n)
    if kind == "label_probabilities":
        return draw.random((n, k))
    if kind == "ranked_labels":
        return top_classes(draw.random((n, k)), submission)
    return as_predictions(labels[draw.integers(len(labels), size=n)], submission)


def fit_alone(submission: SubmissionFormat, features: Array, labels: Values) -> Iterator[Values]:
    """Predictions for test of a linear model and of a small tree that see ``features`` alone.

    Texts and masks can't be fitted so: there the label of the nearest training row is copied.

    Args:
        submission: the form of the task.
        features: standardised, rows of train, then of test; shape (n_train + n_test, p).
        labels: training labels in truth form.
    """
    seen, unseen = features[: len(labels)], features[len(labels) :]
    if submission.kind in ONE_CLASS:
        yield from _classify(submission, seen, unseen, labels)
    elif submission.kind == "text" or submission.mask_shape:
        nearest = NearestNeighbors(n_neighbors=1).fit(seen).kneighbors(unseen, return_distance=False)[:, 0]
        yield labels[nearest]
    else:
        values = as_predictions(labels, submission)
        for model in (Ridge(), DecisionTreeRegressor(**TREE)):
            yield _shaped(model.fit(seen, values).predict(unseen), submission)


def _classify(submission: SubmissionFormat, seen: Array, unseen: Array, labels: Values) -> Iterator[Values]:
    if len(np.unique(labels)) < 2:
        return
    for model in (LogisticRegression(), DecisionTreeClassifier(**TREE)):
        model.fit(seen, labels)
        shares = np.zeros((len(unseen), len(submission.classes)))
        shares[:, model.classes_.astype(np.int64)] = model.predict_proba(unseen)
        if submission.kind == "label":
            yield shares.argmax(axis=1).astype(np.float64)
        elif submission.kind == "probability":
            yield shares[:, 1]
        else:
            yield top_classes(shares, submission) if submission.kind == "ranked_labels" else shares


def _shaped(values: Array, submission: SubmissionFormat) -> Values:
    if submission.kind not in LABEL_MATRIX:
        return values
    inside = np.clip(values, 0.0, 1.0)
    return (inside >= 0.5).astype(np.float64) if submission.kind == "label_set" else inside


def top_classes(scores: Array, submission: SubmissionFormat) -> Values:
    """The likeliest classes of each row in order, padded to shape (n, top)."""
    top = submission.top or 1
    order: NDArray[np.int64] = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    padded = np.full((len(scores), top), PADDING)
    padded[:, : order.shape[1]] = order
    return padded
