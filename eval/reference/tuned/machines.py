"""Models with their settings, by kind of view and what they predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, SVR, LinearSVC

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["Machine", "machines_for"]

BOOSTED: dict[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.08,
    "num_leaves": 8,
    "min_child_samples": 8,
    "subsample": 0.8,
    "subsample_freq": 1,
    "verbosity": -1,
    "n_jobs": 1,
    "deterministic": True,
    "force_row_wise": True,
}
SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Machine:
    """A model whose scores become probabilities, or numbers on the scale of standardised targets."""

    def __init__(self, make: Callable[[], Any], mode: str) -> None:
        self.make, self.mode = make, mode

    def scores(self, x: Any, y: Array, x_new: Any) -> Array:  # noqa: ANN401 - dense or sparse
        """Of the new rows: log probabilities or margins (m, K) of classes, numbers (m, 1) otherwise."""
        if self.mode == "number":
            center, spread = y.mean(), max(float(y.std()), 1e-12)
            found = self.make().fit(x, (y[:, 0] - center) / spread).predict(x_new)
            return np.asarray(found[:, None] * spread + center, dtype=np.float64)
        model = self.make().fit(x, y.argmax(axis=1))
        if hasattr(model, "predict_proba"):
            raw = np.log(np.clip(model.predict_proba(x_new), 1e-6, 1.0))
        else:
            raw = model.decision_function(x_new)
            raw = np.column_stack([-raw, raw]) if raw.ndim == 1 else raw
        full = np.full((raw.shape[0], y.shape[1]), raw.min() - 2.0)
        full[:, model.classes_] = raw
        return full

    def predictions(self, scores: Array, sharpness: float) -> Array:
        """Probabilities, the scores scaled by ``sharpness``; numbers stay."""
        if self.mode == "number":
            return scores
        raised = np.exp((scores - scores.max(axis=1, keepdims=True)) * sharpness)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def machines_for(kind: str, mode: str, width: int, seed: int) -> Iterator[tuple[str, Machine]]:
    """All machines that suit a view of this kind and width, by name."""
    makers = numbers(kind, width, seed) if mode == "number" else classes(kind, width, seed)
    for name, make in makers.items():
        yield name, Machine(make, mode)


def classes(kind: str, width: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Classifiers."""
    if kind == "terms":
        return {
            "logistic": lambda: LogisticRegression(C=20.0, max_iter=300),
            "margins": lambda: LinearSVC(C=0.5, random_state=seed),
            "bayes": lambda: ComplementNB(alpha=0.3),
        }
    found: dict[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(C=0.05, max_iter=200),
        "logistic weak": lambda: LogisticRegression(C=0.5, max_iter=200),
        "kernel": lambda: SVC(C=3.0, gamma=0.3 / width),
        "kernel wide": lambda: SVC(C=20.0, gamma=0.05 / width),
        "forest": lambda: ExtraTreesClassifier(120, min_samples_leaf=2, max_features="sqrt", random_state=seed),
    }
    if kind == "columns":
        found["boosted"] = lambda: LGBMClassifier(**BOOSTED, random_state=seed)
    if kind == "pixels":
        found["neighbours"] = lambda: KNeighborsClassifier(5, weights="distance")
    return found


def numbers(kind: str, width: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Regressions."""
    if kind == "terms":
        return {
            "ridge": lambda: Ridge(1.0),
            "ridge weak": lambda: Ridge(0.2),
            "kernel": lambda: SVR(C=2.0, gamma=1.0, epsilon=0.1),
        }
    found: dict[str, Callable[[], Any]] = {
        "ridge": lambda: Ridge(30.0),
        "ridge strong": lambda: Ridge(300.0),
        "kernel": lambda: SVR(C=1.0, gamma=0.2 / width, epsilon=0.1),
        "kernel wide": lambda: SVR(C=5.0, gamma=0.05 / width, epsilon=0.1),
        "forest": lambda: ExtraTreesRegressor(120, min_samples_leaf=2, max_features=0.4, random_state=seed),
    }
    if kind == "columns":
        found["boosted"] = lambda: LGBMRegressor(**BOOSTED, random_state=seed)
    return found
