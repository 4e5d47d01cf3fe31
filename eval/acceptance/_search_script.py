"""The discoverability search: what a patient data scientist finds with public data alone.

Run as ``python search.py FACTS K`` where input/train.csv and input/test.csv lie; writes submission.csv. FACTS is a JSON
object with what the brief tells: target, id_column, kind, classes, metric. The library of ideas is fixed here. Ideas
are screened by their association with out-of-fold residuals, given all columns that the model has already; at most K
are cross-validated, greedily, by log loss or squared error; the final model is linear, or its blend with trees and a
kernel machine where cross-validation says so. The file stands alone: numpy, pandas and scikit-learn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.svm import SVC, SVR

Array = NDArray[np.float64]
FOLDS = 5
PER_ROUND = 10
MIN_SCREEN_Z = 4.0
MIN_GAIN_Z = 2.5
PENALTIES = (0.5, 2.0, 8.0, 32.0, 128.0)
CUTS = (0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85)
COARSE_CUTS = (0.35, 0.5, 0.65)
PERIODS = (0.8, 1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0)
WIDTHS = (0.3, 0.5, 0.8)
CALENDAR = (" month", " weekday")
MAX_PAIRED = 14
MAX_SKEW = 0.8
MAX_LEVELS = 12
NEWTON_STEPS = 8


@dataclass(frozen=True)
class Table:
    """Standardised numbers, logarithms of positive ones, emptiness, level codes (-1: not seen in training)."""

    rows: int
    z: dict[str, Array]
    logs: dict[str, Array]
    empty: dict[str, Array]
    codes: dict[str, Array]
    n_levels: dict[str, int]

    def levels(self, name: str) -> Array:
        """One 0/1 column per level."""
        return np.asarray(self.codes[name][:, None] == np.arange(self.n_levels[name]), dtype=np.float64)

    def base(self) -> Array:
        """What every model gets: numbers, emptiness, levels (but the calendar as numbers only)."""
        singles = [values[:, None] for values in (*self.z.values(), *self.empty.values())]
        return np.hstack(
            [
                np.zeros((self.rows, 0)),
                *singles,
                *(self.levels(name) for name in self.codes if not name.endswith(CALENDAR)),
            ]
        )

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        z, logs, empty, codes = (
            {name: values[rows] for name, values in part.items()}
            for part in (self.z, self.logs, self.empty, self.codes)
        )
        return Table(int(rows.sum()), z, logs, empty, codes, self.n_levels)


Idea = Callable[[Table], Array]


def read_table(frame: pd.DataFrame, seen: NDArray[np.bool_]) -> Table:
    """All columns on the scale of the training rows (``seen``).

    A positive number with a long right tail is read on the log scale; a date gives a day number and calendar levels.
    """
    numbers, texts = split_columns(frame)
    table = Table(len(frame), {}, {}, {}, {}, {})
    for name, values in numbers.items():
        known = values[seen & ~np.isnan(values)]
        if len(known) == 0 or known.std() == 0:
            continue
        filled = np.where(np.isnan(values), np.median(known), values)
        reading = np.log if known.min() > 0 and filled.min() > 0 and skewness(known) > MAX_SKEW else np.asarray
        center, spread = reading(known).mean(), reading(known).std()
        table.z[name] = (reading(filled) - center) / spread
        if np.isnan(values[seen]).any():
            table.empty[name] = np.isnan(values).astype(np.float64)
        if filled.min() > 0 and known.max() > 1.5 * known.min():
            table.logs[name] = np.log(filled)
    for name, column in texts.items():
        names = {level: float(code) for code, level in enumerate(sorted(set(column[seen])))}
        table.codes[name] = np.asarray([names.get(text, -1.0) for text in column], dtype=np.float64)
        table.n_levels[name] = len(names)
    return table


def skewness(values: Array) -> float:
    """Mean cube of the standardised values."""
    return float(np.mean(((values - values.mean()) / values.std()) ** 3))


def split_columns(frame: pd.DataFrame) -> tuple[dict[str, Array], dict[str, NDArray[np.object_]]]:
    """Numeric columns as floats, all others as text."""
    numbers: dict[str, Array] = {}
    texts: dict[str, NDArray[np.object_]] = {}
    for name, column in frame.items():
        key = str(name)
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            numbers[key] = column.to_numpy(np.float64, na_value=np.nan)
            continue
        known = column.dropna().astype(str)
        if len(known) and known.str.fullmatch(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?").all():
            date = pd.to_datetime(column, errors="coerce", format="ISO8601")
            numbers[key] = np.asarray((date - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1), dtype=np.float64)
            for part, values in zip(CALENDAR, (date.dt.month, date.dt.day_of_week), strict=True):
                numbers[key + part] = np.asarray(values, dtype=np.float64)
                texts[key + part] = np.array([f"{value:02.0f}" for value in values], dtype=object)
        else:
            texts[key] = column.astype(object).where(column.notna(), "missing").astype(str).to_numpy(dtype=object)
    return numbers, texts


def column(values: Any) -> Array:  # noqa: ANN401 - a vector of any dtype
    """A vector as a one-column matrix."""
    return np.asarray(values, dtype=np.float64)[:, None]


def library(table: Table) -> Iterator[Idea]:
    """Every idea, as a function of a table; cut points are quantiles of the training rows."""
    names = sorted(table.z, key=lambda name: name.endswith(CALENDAR))[:MAX_PAIRED]
    for name in table.z:
        yield from single_ideas(name, np.quantile(table.z[name], CUTS))
    for a, b in combinations(names, 2):
        yield from pair_ideas(a, b, table)
    for a, b in permutations(names, 2):
        for cut in np.quantile(table.z[b], COARSE_CUTS):
            yield partial(gated, a=a, b=b, cut=cut)
    close = [(a, b) for a, b in combinations(names, 2) if abs(np.corrcoef(table.z[a], table.z[b])[0, 1]) > 0.3]
    groups = {tuple(sorted({name}.union(*(pair for pair in close if name in pair)))) for name in names}
    for group in sorted(group for group in groups if len(group) > 1):
        yield partial(common_square, group=group)
        yield partial(common_size, group=group)
    yield from level_ideas(table, names)


def single_ideas(name: str, cuts: Array) -> Iterator[Idea]:
    """Curves, hinges, steps, bands and waves of one number."""
    yield lambda t: column(t.z[name] ** 2)
    yield lambda t: column(np.log(np.abs(t.z[name]) + 0.1))
    for cut in cuts:
        yield partial(hinge, name=name, cut=cut)
        yield partial(above, name=name, cut=cut)
        for width in WIDTHS:
            yield partial(band, name=name, cut=cut, width=width)
    for period in PERIODS:
        yield partial(wave, name=name, turn=2 * np.pi / period)


def hinge(t: Table, name: str, cut: float) -> Array:
    """Distance from a value."""
    return column(np.abs(t.z[name] - cut))


def above(t: Table, name: str, cut: float) -> Array:
    """Whether a number exceeds a value."""
    return column(t.z[name] > cut)


def band(t: Table, name: str, cut: float, width: float) -> Array:
    """Whether a number is near a value."""
    return column(np.abs(t.z[name] - cut) < width)


def wave(t: Table, name: str, turn: float) -> Array:
    """Sine and cosine of a number."""
    return np.column_stack([np.sin(turn * t.z[name]), np.cos(turn * t.z[name])])


def gated(t: Table, a: str, b: str, cut: float) -> Array:
    """One number, counted only where another exceeds a value."""
    return column(t.z[a] * (t.z[b] > cut))


def common(t: Table, group: tuple[str, ...]) -> Array:
    """The mean of numbers that go together."""
    return np.asarray(np.mean([t.z[name] for name in group], axis=0), dtype=np.float64)


def common_square(t: Table, group: tuple[str, ...]) -> Array:
    """The square of their mean."""
    return column(common(t, group) ** 2)


def common_size(t: Table, group: tuple[str, ...]) -> Array:
    """How far their mean is from usual."""
    return column(np.abs(common(t, group)))


def pair_ideas(a: str, b: str, table: Table) -> Iterator[Idea]:
    """Products, distances, extremes, agreeing sides and ratios of two numbers."""
    yield lambda t: column(t.z[a] * t.z[b])
    yield lambda t: column(np.abs(t.z[a] - t.z[b]))
    yield lambda t: column(np.abs(t.z[a] + t.z[b]))
    yield lambda t: column(np.maximum(np.abs(t.z[a]), np.abs(t.z[b])))
    yield lambda t: column(np.minimum(np.abs(t.z[a]), np.abs(t.z[b])))
    yield lambda t: column(np.maximum(t.z[a], t.z[b]))
    for x, y in product(np.quantile(table.z[a], COARSE_CUTS), np.quantile(table.z[b], COARSE_CUTS)):
        yield partial(agree, a=a, b=b, x=x, y=y)
    if a in table.logs and b in table.logs:
        yield lambda t: column(np.exp(np.clip(t.logs[a] - t.logs[b], -8, 8)))
        yield lambda t: column(t.logs[a] - t.logs[b])
        for usual in np.quantile(table.logs[a] - table.logs[b], COARSE_CUTS):
            yield partial(odd_ratio, a=a, b=b, usual=usual)


def agree(t: Table, a: str, b: str, x: float, y: float) -> Array:
    """Whether two numbers lie on the same side of their cuts."""
    return column((t.z[a] > x) == (t.z[b] > y))


def odd_ratio(t: Table, a: str, b: str, usual: float) -> Array:
    """How far a ratio is from its usual value, on the log scale."""
    return column(np.abs(t.logs[a] - t.logs[b] - usual))


def level_ideas(table: Table, names: list[str]) -> Iterator[Idea]:
    """Slopes and deviations by level, the calendar as circles, and pairs of levels."""
    small = [name for name in table.codes if 2 <= table.n_levels[name] <= MAX_LEVELS]
    for level in small:
        if level.endswith(CALENDAR):
            yield partial(circle, level=level, turn=2 * np.pi / (12 if level.endswith(CALENDAR[0]) else 7))
            yield partial(Table.levels, name=level)
        members = table.levels(level)
        for name in names:
            centers = members.T @ table.z[name] / np.maximum(members.sum(axis=0), 1.0)
            yield partial(slopes, level=level, name=name)
            yield partial(deviation, level=level, name=name, centers=centers)
            yield partial(higher_than_peers, level=level, name=name, centers=centers)
    for a, b in combinations(small, 2):
        if table.n_levels[a] * table.n_levels[b] <= 2 * MAX_LEVELS:
            yield partial(crossed, a=a, b=b)


def circle(t: Table, level: str, turn: float) -> Array:
    """The calendar as a circle; levels are sorted, so that their codes follow the calendar."""
    return np.column_stack([np.sin(turn * t.codes[level]), np.cos(turn * t.codes[level])])


def slopes(t: Table, level: str, name: str) -> Array:
    """A number with its own slope in each level."""
    return t.levels(level) * t.z[name][:, None]


def deviation(t: Table, level: str, name: str, centers: Array) -> Array:
    """How far a number is from the mean of its level."""
    return column(np.abs(t.z[name] - t.levels(level) @ centers))


def higher_than_peers(t: Table, level: str, name: str, centers: Array) -> Array:
    """Whether a number exceeds the mean of its level."""
    return column(t.z[name] > t.levels(level) @ centers)


def crossed(t: Table, a: str, b: str) -> Array:
    """Every combination of two columns' levels."""
    return np.hstack([t.levels(a) * t.levels(b)[:, [k]] for k in range(t.n_levels[b])])


class Linear:
    """Ridge regression, or one ridge-penalised logistic regression per class fitted by Newton steps."""

    def __init__(self, penalty: float, classes: bool) -> None:
        self.penalty, self.classes = penalty, classes

    def fit(self, x: Array, y: Array) -> Linear:
        """Fit on a matrix and targets of shape (n, K): indicators of classes, or one column of numbers."""
        self.center, spread = x.mean(axis=0), x.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, np.inf)
        design = np.column_stack([np.ones(len(x)), (x - self.center) / self.spread])
        ridge = np.diag([1e-6, *np.full(x.shape[1], self.penalty)])
        if not self.classes:
            self.weights = np.linalg.solve(design.T @ design + ridge, design.T @ y)
            return self
        outcomes = y[:, 1:] if y.shape[1] == 2 else y
        self.weights = np.column_stack([newton(design, outcome, ridge) for outcome in outcomes.T])
        return self

    def predict(self, x: Array) -> Array:
        """Numbers of shape (n, 1), or class probabilities of shape (n, K)."""
        raw = np.column_stack([np.ones(len(x)), (x - self.center) / self.spread]) @ self.weights
        if not self.classes:
            return np.asarray(raw, dtype=np.float64)
        chance = 1 / (1 + np.exp(-np.clip(raw, -30, 30)))
        both = np.column_stack([1 - chance, chance]) if chance.shape[1] == 1 else chance
        return np.asarray(both / both.sum(axis=1, keepdims=True), dtype=np.float64)


def newton(design: Array, outcome: Array, ridge: Array) -> Array:
    """Weights of a ridge-penalised logistic regression."""
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = np.maximum(chance * (1 - chance), 1e-4)
        gradient = design.T @ (outcome - chance) - ridge @ weights
        step = np.linalg.solve((design * slope[:, None]).T @ design + ridge, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-4:
            break
    return weights


class Blend:
    """The mean of the linear model, two kinds of tree ensembles and a kernel machine."""

    def __init__(self, penalty: float, classes: bool) -> None:
        self.linear, self.classes = Linear(penalty, classes), classes

    def fit(self, x: Array, y: Array) -> Blend:
        """As ``Linear.fit``."""
        self.linear.fit(x, y)
        scaled = (x - self.linear.center) / self.linear.spread
        boost = {"n_estimators": 50, "learning_rate": 0.1, "subsample": 0.8, "max_features": 0.3, "random_state": 0}
        bags = {"n_estimators": 40, "min_samples_leaf": 3, "max_features": 0.4, "random_state": 0}
        gamma = 0.3 / max(x.shape[1], 1)
        if self.classes:
            models = [GradientBoostingClassifier(**boost), ExtraTreesClassifier(**bags), SVC(C=2.0, gamma=gamma)]
            self.models = [model.fit(scaled, y.argmax(axis=1)) for model in models[: 2 if y.shape[1] > 2 else 3]]
        else:
            self.shift, self.scale = y.mean(), max(float(y.std()), 1e-12)
            models = [GradientBoostingRegressor(**boost), ExtraTreesRegressor(**bags), SVR(C=3.0, gamma=gamma)]
            self.models = [model.fit(scaled, (y[:, 0] - self.shift) / self.scale) for model in models]
        return self

    def predict(self, x: Array) -> Array:
        """As ``Linear.predict``."""
        first = self.linear.predict(x)
        scaled = (x - self.linear.center) / self.linear.spread
        if not self.classes:
            others = [model.predict(scaled) * self.scale + self.shift for model in self.models]
            return column(np.mean([first[:, 0], *others], axis=0))
        found = [first]
        for model in self.models:
            if isinstance(model, SVC):
                chance = 1 / (1 + np.exp(-1.5 * model.decision_function(scaled)))
                found.append(np.column_stack([1 - chance, chance]))
            else:
                shares = np.full_like(first, 1e-6)
                shares[:, model.classes_] = model.predict_proba(scaled)
                found.append(shares)
        mean = np.mean(found, axis=0)
        return np.asarray(mean / mean.sum(axis=1, keepdims=True), dtype=np.float64)


class Boosted(Blend):
    """The boosted trees alone, for targets that are far from linear."""

    def fit(self, x: Array, y: Array) -> Boosted:
        """As ``Linear.fit``."""
        boost = {"n_estimators": 80, "learning_rate": 0.08, "subsample": 0.8, "max_features": 0.5, "random_state": 0}
        if self.classes:
            self.model = GradientBoostingClassifier(min_samples_leaf=5, **boost).fit(x, y.argmax(axis=1))
        else:
            self.model = GradientBoostingRegressor(min_samples_leaf=5, **boost).fit(x, y[:, 0])
        self.width = y.shape[1]
        return self

    def predict(self, x: Array) -> Array:
        """As ``Linear.predict``."""
        if not self.classes:
            return column(self.model.predict(x))
        shares = np.full((len(x), self.width), 1e-6)
        shares[:, self.model.classes_] = self.model.predict_proba(x)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


class Search:
    """The state of one search: training rows, folds, and the matrix of the columns chosen so far."""

    def __init__(self, table: Table, y: Array, classes: bool, seed: int = 0) -> None:
        self.table, self.y, self.classes, self.x = table, y, classes, table.base()
        shuffled = np.random.default_rng(seed).permutation(len(y))
        order = shuffled[np.argsort(y.argmax(axis=1)[shuffled], kind="stable")] if classes else shuffled
        self.fold = np.empty(len(y), dtype=np.int64)
        self.fold[order] = np.arange(len(y)) % FOLDS
        self.penalty = PENALTIES[2]

    def out_of_fold(self, model: Linear | Blend, x: Array) -> Array:
        """Predictions of every row by a model that did not see it; shape (n, K)."""
        found = np.zeros_like(self.y)
        for k in range(FOLDS):
            inside = self.fold != k
            found[~inside] = model.fit(x[inside], self.y[inside]).predict(x[~inside])
        return found

    def losses(self, predicted: Array) -> Array:
        """Loss of each row: minus log probability, or squared error; shape (n,)."""
        if self.classes:
            return np.asarray(-np.log(np.clip((predicted * self.y).sum(axis=1), 1e-6, 1.0)), dtype=np.float64)
        return np.asarray(((predicted - self.y) ** 2)[:, 0], dtype=np.float64)

    def tune(self) -> Array:
        """Choose the penalty; returns out-of-fold predictions with it."""
        tried = [self.out_of_fold(Linear(penalty, self.classes), self.x) for penalty in PENALTIES]
        best = int(np.argmin([self.losses(predicted).mean() for predicted in tried]))
        self.penalty = PENALTIES[best]
        return tried[best]

    def screen(self, matrices: list[Array], predicted: Array) -> list[int]:
        """Indices of the most promising ideas, best first, no two of them nearly the same column."""
        basis = np.linalg.qr(np.column_stack([np.ones(len(self.y)), self.x]))[0]
        residual = self.y - predicted
        residual = residual - basis @ (basis.T @ residual)
        residual = residual / np.maximum(residual.std(axis=0), 1e-12)
        stacked = np.hstack(matrices)
        rest = stacked - basis @ (basis.T @ stacked)
        size = np.sqrt((rest**2).sum(axis=0))
        usable = size > 0.1 * np.maximum(np.sqrt(((stacked - stacked.mean(axis=0)) ** 2).sum(axis=0)), 1e-9)
        scaled = np.where(usable, rest / np.maximum(size, 1e-12), 0.0)
        strength = ((scaled.T @ residual) ** 2).max(axis=1)
        width = np.array([matrix.shape[1] for matrix in matrices])
        first = np.cumsum(width) - width
        total = np.add.reduceat(strength, first)
        # Wilson and Hilferty's normal approximation of chi-square, so that ideas of any width compare.
        z = ((total / width) ** (1 / 3) - (1 - 2 / (9 * width))) / np.sqrt(2 / (9 * width))
        chosen: list[int] = []
        for index in np.argsort(-z, kind="stable")[: 20 * PER_ROUND]:
            lead = scaled[:, first[index] + int(np.argmax(strength[first[index] : first[index] + width[index]]))]
            twins = [np.abs(lead @ scaled[:, first[j] : first[j] + width[j]]).max() > 0.97 for j in chosen]
            if z[index] > MIN_SCREEN_Z and not any(twins):
                chosen.append(int(index))
            if len(chosen) == PER_ROUND:
                break
        return chosen

    def run(self, ideas: list[Idea], budget: int) -> list[Idea]:
        """Greedy forward selection; at most ``budget`` ideas are cross-validated."""
        matrices = [idea(self.table) for idea in ideas]
        predicted, taken = self.tune(), []
        while budget > 0 and matrices:
            now = self.losses(predicted)
            gains: dict[int, Array] = {}
            for index in self.screen(matrices, predicted)[:budget]:
                budget -= 1
                trial = self.out_of_fold(Linear(self.penalty, self.classes), np.hstack([self.x, matrices[index]]))
                gains[index] = now - self.losses(trial)
            best = max(gains, key=lambda index: float(gains[index].mean()), default=-1)
            if best < 0 or gains[best].mean() < MIN_GAIN_Z * gains[best].std() / np.sqrt(len(now)):
                break
            taken.append(ideas[best])
            self.x = np.hstack([self.x, matrices[best]])
            predicted = self.tune()
        return taken

    def final(self, x_test: Array) -> Array:
        """Test predictions of the linear model, the trees or the blend, whichever has the lowest loss out of fold."""
        models = [make(self.penalty, self.classes) for make in (Linear, Blend, Boosted)]
        losses = [self.losses(self.out_of_fold(model, self.x)).mean() for model in models]
        return models[int(np.argmin(losses))].fit(self.x, self.y).predict(x_test)


def main() -> None:
    """Read the tables and the brief's facts, search, write submission.csv."""
    facts, budget = json.loads(sys.argv[1]), int(sys.argv[2])
    train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
    names = [name for name in train if name in test and name not in (facts["id_column"], facts["target"])]
    seen = np.arange(len(train) + len(test)) < len(train)
    both = read_table(pd.concat([train[names], test[names]], ignore_index=True), seen)
    table, unseen = both.take(seen), both.take(~seen)
    labels, classes = train[facts["target"]], list(facts["classes"])
    logarithm = not classes and bool((labels > 0).all() and labels.skew() > 1)
    if classes:
        y = np.asarray(labels.astype(str).to_numpy()[:, None] == np.array(classes, dtype=object), dtype=np.float64)
    else:
        y = column(np.log(labels) if logarithm else labels)
    search = Search(table, y, bool(classes))
    taken = search.run(list(library(table)), budget)
    found = search.final(np.hstack([unseen.base(), *(idea(unseen) for idea in taken)]))
    if logarithm:
        found = np.exp(np.clip(found, y.min() - 1, y.max() + 1))
        if facts["metric"] in ("rmse", "r2"):
            found *= np.exp(search.losses(search.out_of_fold(Linear(search.penalty, False), search.x)).mean() / 2)
    write(facts, test[facts["id_column"]], found, y)


def write(facts: dict[str, Any], ids: pd.Series, found: Array, y: Array) -> None:
    """Write predictions in the form that the metric asks for."""
    out, names, kind = pd.DataFrame({facts["id_column"]: ids}), np.array(facts["classes"], dtype=object), facts["kind"]
    if kind == "number":
        out[facts["target"]] = np.maximum(found[:, 0], 0.0) if y.min() >= 0 else found[:, 0]
    elif kind == "probability":
        out[facts["target"]] = found[:, 1]
    elif kind == "class_probabilities":
        out[list(names)] = found
    elif facts["metric"] in ("macro_f1", "mcc") and len(names) == 2:
        cut = np.quantile(found[:, 1], 1 - y[:, 1].mean())
        out[facts["target"]] = names[(found[:, 1] > cut).astype(int)]
    else:
        out[facts["target"]] = names[found.argmax(axis=1)]
    out.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
