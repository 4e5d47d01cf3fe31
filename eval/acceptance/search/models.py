"""The models: ridge or logistic regression, trees, and their mean with a kernel machine.

All take targets of shape (n, K): indicators of classes or labels, or one column of numbers; and predict (m, K).
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.svm import SVC, SVR

from sandmle.eval.acceptance.search.facts import Array, column

__all__ = ["Blend", "Boosted", "Linear", "Mean"]

NEWTON_STEPS = 8
MANY = 5
"""From so many classes or labels on, boosting gives way to a forest, which costs the same whatever their number."""


class Linear:
    """Ridge regression, or one ridge-penalised logistic regression per class fitted by Newton steps."""

    def __init__(self, penalty: float, mode: str, width: Array | None = None) -> None:
        """``width`` is the share of its usual penalty's inverse that each column gets; 1 everywhere if None."""
        self.penalty, self.mode, self.width = penalty, mode, width

    def fit(self, x: Array, y: Array) -> Linear:
        """Fit on a matrix and targets."""
        self.center, spread = x.mean(axis=0), x.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, np.inf)
        if self.width is not None:
            self.spread = self.spread / self.width
        design = np.column_stack([np.ones(len(x)), (x - self.center) / self.spread])
        ridge = np.diag([1e-6, *np.full(x.shape[1], self.penalty)])
        if self.mode == "number":
            self.weights = np.linalg.solve(design.T @ design + ridge, design.T @ y)
            return self
        outcomes = y[:, 1:] if self.mode == "classes" and y.shape[1] == 2 else y
        wide = x.shape[1] > len(x)
        if wide:  # the weights lie in the span of the rows, so they are sought there
            basis, rows = np.linalg.qr(design[:, 1:].T)
            design, ridge = np.column_stack([np.ones(len(x)), rows.T]), ridge[: len(x) + 1, : len(x) + 1]
        self.weights = np.column_stack([newton(design, outcome, ridge) for outcome in outcomes.T])
        if wide:
            self.weights = np.vstack([self.weights[:1], basis @ self.weights[1:]])
        return self

    def predict(self, x: Array) -> Array:
        """Numbers of shape (n, 1), or probabilities of shape (n, K)."""
        raw = np.column_stack([np.ones(len(x)), (x - self.center) / self.spread]) @ self.weights
        if self.mode == "number":
            return np.asarray(raw, dtype=np.float64)
        chance = 1 / (1 + np.exp(-np.clip(raw, -30, 30)))
        if self.mode == "labels":
            return np.asarray(chance, dtype=np.float64)
        both = np.column_stack([1 - chance, chance]) if chance.shape[1] == 1 else chance
        return np.asarray(both / both.sum(axis=1, keepdims=True), dtype=np.float64)


def newton(design: Array, outcome: Array, ridge: Array) -> Array:
    """Weights of a ridge-penalised logistic regression."""
    weights = np.zeros(design.shape[1])
    share = np.clip(outcome.mean(), 1e-3, 1 - 1e-3)
    weights[0] = np.log(share / (1 - share))
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = np.maximum(chance * (1 - chance), 1e-4)
        gradient = design.T @ (outcome - chance) - ridge @ weights
        step = np.linalg.solve((design * slope[:, None]).T @ design + ridge, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-2:
            break
    return weights


class Trees:
    """Boosted trees, or a forest where there are many outputs; ``boost`` and ``bags`` trees of each."""

    def __init__(self, mode: str, boost: int, bags: int) -> None:
        self.mode, self.boost, self.bags = mode, boost, bags

    def fit(self, x: Array, y: Array) -> Trees:
        """As ``Linear.fit``."""
        few = y.shape[1] < MANY
        boost = {"max_iter": self.boost, "learning_rate": 0.16, "max_leaf_nodes": 6, "min_samples_leaf": 8}
        boost |= {"l2_regularization": 1.0, "max_features": 0.5, "early_stopping": False, "random_state": 0}
        bags = {"n_estimators": self.bags, "min_samples_leaf": 3, "max_features": 0.4, "random_state": 0}
        number = self.mode != "classes"
        makers: list[tuple[type, dict[str, float]]] = []
        if self.boost and few and not (number and y.shape[1] > 1):
            makers.append((HistGradientBoostingRegressor if number else HistGradientBoostingClassifier, boost))
        if self.bags or not makers:
            bags["n_estimators"] = self.bags or 60
            makers.append((ExtraTreesRegressor if number else ExtraTreesClassifier, bags))
        self.shape = y.shape[1]
        target = y.argmax(axis=1) if not number else y if y.shape[1] > 1 else y[:, 0]
        self.constant = not number and len(set(target)) < 2
        self.mean = y.mean(axis=0)
        self.models = [] if self.constant else [make(**settings).fit(x, target) for make, settings in makers]
        return self

    def predict(self, x: Array) -> Array:
        """As ``Linear.predict``."""
        if self.constant:
            return np.tile(np.clip(self.mean, 1e-6, 1.0), (len(x), 1))
        found = []
        for model in self.models:
            if self.mode == "classes":
                shares = np.full((len(x), self.shape), 1e-6)
                shares[:, model.classes_] = model.predict_proba(x)
                found.append(shares / shares.sum(axis=1, keepdims=True))
            else:
                found.append(np.asarray(model.predict(x), dtype=np.float64).reshape(len(x), self.shape))
        mean = np.mean(found, axis=0)
        return np.asarray(np.clip(mean, 0.0, 1.0) if self.mode == "labels" else mean, dtype=np.float64)


class Boosted(Trees):
    """The boosted trees alone, for targets that are far from linear."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode, boost=40, bags=0)


class Blend:
    """The mean of the linear model, a forest that counts twice, and a kernel machine."""

    def __init__(self, penalty: float, mode: str, width: Array | None = None) -> None:
        self.linear, self.trees, self.mode = Linear(penalty, mode, width), Trees(mode, boost=0, bags=30), mode

    def fit(self, x: Array, y: Array) -> Blend:
        """As ``Linear.fit``."""
        self.linear.fit(x, y)
        scaled = (x - self.linear.center) / self.linear.spread
        self.trees.fit(scaled, y)
        gamma = 0.3 / max(x.shape[1], 1)
        self.kernel = None
        if self.mode == "number":
            self.shift, self.scale = y.mean(), max(float(y.std()), 1e-12)
            self.kernel = SVR(C=3.0, gamma=gamma).fit(scaled, (y[:, 0] - self.shift) / self.scale)
        elif self.mode == "classes" and y.shape[1] == 2 and 0 < y[:, 1].mean() < 1:
            self.kernel = SVC(C=2.0, gamma=gamma).fit(scaled, y[:, 1])
        return self

    def predict(self, x: Array) -> Array:
        """As ``Linear.predict``."""
        scaled = (x - self.linear.center) / self.linear.spread
        first, trees = self.linear.predict(x), self.trees.predict(scaled)
        found = [first, trees, trees]
        if self.kernel is not None and self.mode == "number":
            found.append(column(self.kernel.predict(scaled) * self.scale + self.shift))
        elif self.kernel is not None:
            chance = 1 / (1 + np.exp(-1.5 * self.kernel.decision_function(scaled)))
            found.append(np.column_stack([1 - chance, chance]))
        return np.asarray(np.mean(found, axis=0), dtype=np.float64)


class Mean:
    """The training mean."""

    def fit(self, x: Array, y: Array) -> Mean:
        """As ``Linear.fit``."""
        self.mean = y.mean(axis=0)
        return self

    def predict(self, x: Array) -> Array:
        """As ``Linear.predict``."""
        return np.tile(self.mean, (len(x), 1))
