"""The pipelines, as one script that runs in a sandbox: the files are read once, then model after model is fitted.

``python pipelines.py '{"facts": FACTS, "names": [..]}'`` runs where ``input/`` lies. FACTS is the JSON object that the
frozen search takes, with or without ``target``. It writes submission-<name>.csv for every pipeline that works, and
seconds.json with the CPU seconds of each.

All see the same columns: numbers, levels, and what the search's front-ends make of images, sounds, texts and series.
Models predict a matrix of targets, shares of classes or labels, or one number.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.finals import Answer, Finals
from sandmle.eval.acceptance.search.forms import submission
from sandmle.eval.acceptance.search.greedy import Search, associations, folds_of
from sandmle.eval.acceptance.search.layout import read_sheet
from sandmle.eval.acceptance.search.main import MEAN_METRICS
from sandmle.eval.acceptance.search.models import Boosted, Linear, Mean, Trees
from sandmle.eval.acceptance.search.tables import read_table
from sandmle.eval.acceptance.search.targets import read_target

__all__ = ["PIPELINES", "SLOW", "WEAK", "run"]

FLOOR = 1e-6
FEW_ROWS = 20
IDEAS = 16


class Shares:
    """A regressor of scikit-learn on the whole matrix; shares stay in [0, 1] and those of classes sum to 1."""

    def __init__(self, estimator: Any, mode: str) -> None:  # noqa: ANN401 - any regressor
        self.estimator, self.mode = estimator, mode

    def fit(self, x: Array, y: Array) -> Shares:
        """Fit on a matrix and targets (n, K)."""
        self.width, self.center, self.spread = y.shape[1], y.mean(axis=0), np.maximum(y.std(axis=0), FLOOR)
        scaled = (y - self.center) / self.spread
        self.model = clone(self.estimator).fit(x, scaled if self.width > 1 else scaled[:, 0])
        return self

    def predict(self, x: Array) -> Array:
        """Predictions (m, K)."""
        found = self.model.predict(x).reshape(len(x), self.width) * self.spread + self.center
        if self.mode != "number":
            found = np.clip(found, FLOOR, 1.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True) if self.mode == "classes" else found)


class FewRows:
    """A model that sees ``FEW_ROWS`` training rows only."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - any model
        self.model = model

    def fit(self, x: Array, y: Array) -> FewRows:
        """Fit on the first of the shuffled rows."""
        rows = np.random.default_rng(0).permutation(len(x))[:FEW_ROWS]
        self.model.fit(x[rows], y[rows])
        return self

    def predict(self, x: Array) -> Array:
        """Predictions (m, K)."""
        return np.asarray(self.model.predict(x), dtype=np.float64)


class OneColumn:
    """A model that sees the one column that goes best with the target."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - any model
        self.model = model

    def fit(self, x: Array, y: Array) -> OneColumn:
        """Choose the column, and fit."""
        self.chosen = [int(np.argmax(associations(x, y)))] if x.shape[1] else []
        self.model.fit(x[:, self.chosen], y)
        return self

    def predict(self, x: Array) -> Array:
        """Predictions (m, K)."""
        return np.asarray(self.model.predict(x[:, self.chosen]), dtype=np.float64)


class Together:
    """The mean of several models."""

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def fit(self, x: Array, y: Array) -> Together:
        """Fit all."""
        for model in self.models:
            model.fit(x, y)
        return self

    def predict(self, x: Array) -> Array:
        """Predictions (m, K)."""
        return np.asarray(np.mean([model.predict(x) for model in self.models], axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Reading:
    """A task as all pipelines see it: the search over it, and columns of the training and the test rows."""

    search: Search
    finals: Finals
    x: Array
    x_test: Array

    @property
    def mode(self) -> str:
        """What is predicted."""
        return str(self.search.mode)

    def tuned(self) -> float:
        """The ridge penalty that is best out of fold."""
        return float(self.search.tune(self.x, np.ones(self.x.shape[1]))[0])

    def answer(self, model: Any) -> Answer:  # noqa: ANN401 - any model
        """What a model predicts, out of fold and for the test rows."""
        inside = self.search.out_of_fold(model, self.x)
        return Answer(np.asarray(model.fit(self.x, self.search.y).predict(self.x_test), dtype=np.float64), inside)


def _shares(estimator: Any) -> Callable[[Reading], Any]:  # noqa: ANN401 - any regressor
    return lambda reading: Shares(estimator, reading.mode)


MODELS: dict[str, Callable[[Reading], Any]] = {
    "mean": lambda _: Mean(),
    "one-column": lambda reading: OneColumn(Linear(2.0, reading.mode)),
    "twenty-rows": lambda reading: FewRows(Linear(8.0, reading.mode)),
    "nearest": _shares(KNeighborsRegressor(1)),
    "tree-deep": _shares(DecisionTreeRegressor(random_state=0)),
    "tree-shallow": _shares(DecisionTreeRegressor(max_depth=3, min_samples_leaf=5, random_state=0)),
    "neighbours": _shares(KNeighborsRegressor(15)),
    "ridge-loose": lambda reading: Linear(0.5, reading.mode),
    "ridge-tight": lambda reading: Linear(512.0, reading.mode),
    "ridge": lambda reading: Linear(reading.tuned(), reading.mode),
    "network": _shares(MLPRegressor(hidden_layer_sizes=(32,), alpha=1.0, max_iter=200, random_state=0)),
    "forest": _shares(RandomForestRegressor(60, min_samples_leaf=2, max_features=0.5, random_state=0)),
    "extra-trees": _shares(ExtraTreesRegressor(60, min_samples_leaf=3, max_features=0.4, random_state=0)),
    "boosted": lambda reading: Boosted(reading.mode),
    "boosted-long": lambda reading: Trees(reading.mode, boost=200, bags=0),
    "together": lambda reading: Together(
        [Linear(reading.tuned(), reading.mode), Boosted(reading.mode), Trees(reading.mode, boost=0, bags=60)]
    ),
}
PIPELINES = (*MODELS, "search")
"""Their names, the simplest first; ``search`` is the frozen search with ``IDEAS`` ideas."""
WEAK = ("mean", "one-column", "twenty-rows", "nearest", "tree-deep")
"""Those that are meant to be poor."""
SLOW = ("search",)
"""Those that take minutes on thousands of rows."""


def run(argument: str) -> None:
    """Run the pipelines that ``argument`` names."""
    warnings.filterwarnings("ignore")
    told = json.loads(argument)
    facts = Facts.read(json.dumps({**told["facts"], "target": told["facts"].get("target") or target_of(told["facts"])}))
    with threadpool_limits(1):
        write(facts, told["names"])


def target_of(facts: dict[str, Any]) -> str:
    """The column of the training rows that the test rows lack: the prediction column, or the first of them."""
    train, test = (pd.read_csv(f"input/{name}.csv", nrows=1) for name in ("train", "test"))
    lacking = [str(name) for name in train if name not in test]
    return next((name for name in facts["prediction_columns"] if name in lacking), lacking[0])


def write(facts: Facts, names: list[str]) -> None:
    """Fit one pipeline after the other; one that fails is told of and leaves no submission."""
    sheet = read_sheet(facts)
    seen = np.arange(len(sheet.table)) < len(sheet.train)
    both = read_table(sheet.table, seen, sheet.features)
    table, unseen = both.take(seen), both.take(~seen)
    target = read_target(facts, sheet.train)
    search = Search(table, target.y, facts.mode, folds_of(target.y, facts.mode, target.groups))
    columns = (np.hstack([part.base(), part.features(table.derived)]) for part in (table, unseen))
    reading = Reading(search, Finals(search, unseen), *columns)
    seconds = {}
    for name in names:
        started = time.process_time()
        try:
            answer = answer_of(name, reading)
            bias = float(search.losses(answer.inside).mean()) if facts.metric in MEAN_METRICS else 0.0
            found, inside = target.back(answer.found, bias), target.back(answer.inside, bias)
            ids = sheet.test[facts.id_column]
            submission(facts, ids, found, inside, target.raw).to_csv(f"submission-{name}.csv", index=False)
        except Exception:  # noqa: BLE001 - the others are to run
            print(f"{name}: {traceback.format_exc(limit=-1)}", file=sys.stderr)
        seconds[name] = round(time.process_time() - started, 3)
    Path("seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


def answer_of(name: str, reading: Reading) -> Answer:
    """What a pipeline predicts."""
    if name == "search":
        return reading.finals.answer(reading.search.run(IDEAS))
    return reading.answer(MODELS[name](reading))
