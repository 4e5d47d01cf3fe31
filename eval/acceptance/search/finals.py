"""The last model: linear on the ideas taken or on all features, trees, blends, whichever is best out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sandmle.eval.acceptance.search.facts import Array
from sandmle.eval.acceptance.search.greedy import MAX_WIDE, PENALTIES, Search
from sandmle.eval.acceptance.search.models import Blend, Boosted, Linear, Mean
from sandmle.eval.acceptance.search.tables import Table

__all__ = ["Answer", "Finals"]


@dataclass(frozen=True)
class Answer:
    """Predictions of the test rows and, out of fold, of the training rows."""

    found: Array
    inside: Array


class Finals:
    """The models to choose from; those that do not depend on the ideas are fitted once for all budgets."""

    def __init__(self, search: Search, unseen: Table) -> None:
        self.search, self.unseen = search, unseen
        self.known: dict[Any, tuple[Array, Array, Any]] = {}
        self.tested: dict[Any, Array] = {}

    def answer(self, taken: tuple[int, ...]) -> Answer:
        """The best model, or the mean of the best two, with these ideas."""
        stage = self.search.stage(taken)
        x_test = self.search.columns(taken, self.unseen)[0]
        names = [("linear", taken)]
        if stage.x.shape[1]:
            names += [("blend", taken)] if self.search.table.derived else [("blend", taken), ("boosted", taken)]
        for name in names:
            kind = name[0]
            if name not in self.known:
                model: Any = Linear(stage.penalty, self.search.mode, stage.width)
                if kind != "linear":
                    blend = kind == "blend"
                    model = Blend(stage.penalty, self.search.mode, stage.width) if blend else Boosted(self.search.mode)
                self.add(name, model, stage.x, x_test)
        return self.best([*names, *self.everything()])

    def style(self, style: str) -> Answer:
        """Without ideas: the training mean, one model on all features, or the best of all such models."""
        if style == "dummy":
            empty = np.zeros((len(self.search.y), 0))
            self.add(("dummy",), Mean(), empty, np.zeros((self.unseen.rows, 0)))
            return self.best([("dummy",)])
        names = self.everything()
        if not self.search.table.derived:
            stage = self.search.stage(())
            x_test = self.unseen.base()
            self.add(("linear",), Linear(stage.penalty, self.search.mode), stage.x, x_test)
            self.add(("gbdt",), Boosted(self.search.mode), stage.x, x_test)
            self.add(("blend",), Blend(stage.penalty, self.search.mode), stage.x, x_test)
            names = [("linear",), ("gbdt",), ("blend",)]
        chosen = {"linear": names[:1], "gbdt": names[1:2]}.get(style, names)
        return self.best(chosen)

    def everything(self) -> list[Any]:
        """Models on ordinary columns and derived features: linear on all, trees and a blend on the likeliest."""
        table = self.search.table
        if not table.derived:
            return []
        names: list[Any] = [("all linear",), ("wide boosted",), ("wide blend",)]
        if names[0] not in self.known:
            x, x_test = (np.hstack([t.base(), t.features(table.derived)]) for t in (table, self.unseen))
            penalty = self.search.tune(x, np.ones(x.shape[1]))[0]
            self.add(names[0], Linear(penalty, self.search.mode), x, x_test)
            best = self.search.best[:MAX_WIDE]
            x, x_test = (np.hstack([t.base(), t.features(best)]) for t in (table, self.unseen))
            self.add(names[1], Boosted(self.search.mode), x, x_test)
            self.add(names[2], Blend(max(penalty, PENALTIES[2]), self.search.mode), x, x_test)
        return names

    def add(self, name: Any, model: Any, x: Array, x_test: Array) -> None:  # noqa: ANN401 - any of the models
        """Remember what a model predicts."""
        self.known[name] = (self.search.out_of_fold(model, x), x_test, (model, x))

    def best(self, names: list[Any]) -> Answer:
        """The candidate, or mean of the two best candidates, with the least loss out of fold."""
        loss = {name: float(self.search.losses(self.known[name][0]).mean()) for name in names}
        order = sorted(names, key=lambda name: loss[name])
        chosen = order[:1]
        if len(order) > 1:
            mean = (self.known[order[0]][0] + self.known[order[1]][0]) / 2
            if self.search.losses(mean).mean() < loss[order[0]]:
                chosen = order[:2]
        inside = np.mean([self.known[name][0] for name in chosen], axis=0)
        found = np.mean([self.test(name) for name in chosen], axis=0)
        return Answer(np.asarray(found), np.asarray(inside))

    def test(self, name: Any) -> Array:  # noqa: ANN401 - the name of a candidate
        """Test predictions of a candidate, fitted on all training rows."""
        if name not in self.tested:
            x_test, (model, x) = self.known[name][1:]
            self.tested[name] = np.asarray(model.fit(x, self.search.y).predict(x_test), dtype=np.float64)
        return self.tested[name]
