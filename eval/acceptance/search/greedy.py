"""The search: ideas are screened, cross-validated and taken one by one.

Screening is by association with the out-of-fold residuals, given all columns that the model has already. An idea counts
against the budget when it is cross-validated for the first time. The best idea of a batch is taken if its gain in loss
(minus log probability, or squared error) stands out from its standard error. Every stage is remembered, so that
searches with several budgets share their work and each is the same as when it runs alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance.search.facts import Array
from sandmle.eval.acceptance.search.ideas import Idea, library
from sandmle.eval.acceptance.search.models import Linear
from sandmle.eval.acceptance.search.tables import Table

__all__ = ["Search", "folds_of", "row_losses"]

FOLDS = 5
BATCH = 8
BATCHES = 3
MIN_SCREEN_Z = {False: 4.0, True: 2.0}
MIN_GAIN_Z = {False: 2.3, True: 1.5}
PENALTIES = (0.5, 2.0, 8.0, 32.0, 128.0, 512.0)
USUAL_WIDTH = 12
MAX_TAKEN = 12
MAX_WIDE = 40


@dataclass
class Stage:
    """A model with some ideas taken: its columns, out-of-fold predictions, and what is known of the ideas left."""

    x: Array
    width: Array
    penalty: float
    predicted: Array
    losses: Array
    order: list[int] | None = None
    gains: dict[int, Array] = field(default_factory=dict)


def folds_of(y: Array, mode: str, groups: NDArray[Any] | None = None, seed: int = 0) -> NDArray[np.int64]:
    """A fold number for every row: classes are spread evenly, groups stay whole."""
    rng = np.random.default_rng(seed)
    if groups is not None:
        names, codes = np.unique(groups, return_inverse=True)
        return np.asarray(rng.permutation(len(names))[codes] % FOLDS, dtype=np.int64)
    shuffled = rng.permutation(len(y))
    keys = y.argmax(axis=1) if mode == "classes" else y.sum(axis=1) if mode == "labels" else np.zeros(len(y))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % FOLDS
    return fold


def row_losses(predicted: Array, y: Array, mode: str) -> Array:
    """Loss of each row: minus log probability (mean over labels), or squared error; shape (n,)."""
    if mode == "classes":
        return np.asarray(-np.log(np.clip((predicted * y).sum(axis=1), 1e-6, 1.0)), dtype=np.float64)
    if mode == "labels":
        right = np.clip(np.where(y > 0.5, predicted, 1 - predicted), 1e-4, 1.0)
        return np.asarray(-np.log(right).mean(axis=1), dtype=np.float64)
    return np.asarray(((predicted - y) ** 2)[:, 0], dtype=np.float64)


def associations(features: Array, y: Array) -> Array:
    """How strongly each column goes with the targets, straight or by distance from its middle; chi-square, df 1."""
    target = (y - y.mean(axis=0)) / np.maximum(y.std(axis=0), 1e-12)
    found = []
    for values in (features, np.abs(features - np.median(features, axis=0))):
        scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-9)
        found.append(((scaled.T @ target) ** 2 / len(y)).max(axis=1, initial=0.0))
    return np.asarray(np.maximum(*found), dtype=np.float64)


class Search:
    """One search on training rows: the table, targets (n, K), what they mean, and the folds."""

    def __init__(self, table: Table, y: Array, mode: str, fold: NDArray[np.int64]) -> None:
        self.table, self.y, self.mode, self.fold, self.base = table, y, mode, fold, table.base()
        strength = associations(table.features(table.derived), y)
        self.best = tuple(table.derived[i] for i in np.argsort(-strength, kind="stable"))
        self.ideas: list[Idea] = list(library(table, self.best))
        self.matrices = [idea.columns(table) for idea in self.ideas]
        self.plain = np.array([idea.plain for idea in self.ideas], dtype=bool)
        self.stacked = np.hstack([np.zeros((len(y), 0)), *self.matrices])
        self.stages: dict[tuple[int, ...], Stage] = {}

    def out_of_fold(self, model: Any, x: Array) -> Array:  # noqa: ANN401 - any of the models
        """Predictions of every row by a model that did not see it; shape (n, K)."""
        found = np.zeros_like(self.y)
        for k in range(FOLDS):
            inside = self.fold != k
            if inside.all():
                continue
            found[~inside] = model.fit(x[inside], self.y[inside]).predict(x[~inside])
        return found

    def losses(self, predicted: Array) -> Array:
        """Loss of each row."""
        return row_losses(predicted, self.y, self.mode)

    def tune(self, x: Array, width: Array) -> tuple[float, Array]:
        """The best penalty and the out-of-fold predictions with it."""
        tried = [self.out_of_fold(Linear(penalty, self.mode, width), x) for penalty in PENALTIES]
        best = int(np.argmin([self.losses(predicted).mean() for predicted in tried]))
        return PENALTIES[best], tried[best]

    def stage(self, taken: tuple[int, ...]) -> Stage:
        """The model with these ideas."""
        if taken not in self.stages:
            x, width = self.columns(taken)
            penalty, predicted = self.tune(x, width)
            self.stages[taken] = Stage(x, width, penalty, predicted, self.losses(predicted))
        return self.stages[taken]

    def columns(self, taken: tuple[int, ...], table: Table | None = None) -> tuple[Array, Array]:
        """Columns of base and ideas, and their widths; of the training rows if no table is given."""
        base = self.base if table is None else table.base()
        parts = [self.matrices[i] if table is None else self.ideas[i].columns(table) for i in taken]
        width = [np.ones(base.shape[1]), *(widths(part.shape[1]) for part in parts)]
        return np.hstack([base, *parts]), np.concatenate(width)

    def screen(self, stage: Stage) -> list[int]:
        """Indices of the most promising ideas, best first, no two of them nearly the same column."""
        if not self.matrices:
            return []
        basis = np.linalg.qr(np.column_stack([np.ones(len(self.y)), stage.x[:, : len(self.y) // 3]]))[0]
        residual = self.y - stage.predicted
        residual = residual - basis @ (basis.T @ residual)
        residual = residual / np.maximum(residual.std(axis=0), 1e-12)
        rest = self.stacked - basis @ (basis.T @ self.stacked)
        size = np.sqrt((rest**2).sum(axis=0))
        whole = np.sqrt(((self.stacked - self.stacked.mean(axis=0)) ** 2).sum(axis=0))
        usable = size > 0.1 * np.maximum(whole, 1e-9)
        scaled = np.where(usable, rest / np.maximum(size, 1e-12), 0.0)
        strength = ((scaled.T @ residual) ** 2).max(axis=1)
        width = np.array([matrix.shape[1] for matrix in self.matrices])
        first = np.cumsum(width) - width
        total = np.add.reduceat(strength, first)
        # Wilson and Hilferty's normal approximation of chi-square, so that ideas of any width compare.
        z = ((total / width) ** (1 / 3) - (1 - 2 / (9 * width))) / np.sqrt(2 / (9 * width))
        z = np.where(self.plain, z + 0.5, z)
        least = np.where(self.plain, MIN_SCREEN_Z[True], MIN_SCREEN_Z[False])
        chosen: list[int] = []
        for index in np.argsort(-z, kind="stable")[: 25 * BATCH * BATCHES]:
            lead = scaled[:, first[index] + int(np.argmax(strength[first[index] : first[index] + width[index]]))]
            wide = width[index] > USUAL_WIDTH
            narrow = [j for j in chosen if width[j] <= USUAL_WIDTH]
            alike = not wide and any(
                np.abs(lead @ scaled[:, first[j] : first[j] + width[j]]).max() > 0.97 for j in narrow
            )
            if z[index] > least[index] and not alike:
                chosen.append(int(index))
            if len(chosen) == BATCH * BATCHES:
                break
        return chosen

    def gain(self, stage: Stage, index: int) -> Array:
        """What an idea takes off the loss of each row."""
        if index not in stage.gains:
            matrix = self.matrices[index]
            width = np.concatenate([stage.width, widths(matrix.shape[1])])
            trial = self.out_of_fold(Linear(stage.penalty, self.mode, width), np.hstack([stage.x, matrix]))
            stage.gains[index] = stage.losses - self.losses(trial)
        return stage.gains[index]

    def run(self, budget: int) -> tuple[int, ...]:
        """Greedy forward selection; at most ``budget`` ideas are cross-validated. Returns those taken, in order."""
        taken: tuple[int, ...] = ()
        tested: set[int] = set()
        while budget > 0 and len(taken) < MAX_TAKEN:
            stage = self.stage(taken)
            if stage.order is None:
                stage.order = self.screen(stage)
            winner = self.winner(stage, tested, budget)
            if winner is None:
                break
            taken = (*taken, winner)
        return taken

    def winner(self, stage: Stage, tested: set[int], budget: int) -> int | None:
        """The best idea of the first batch that holds a convincing one."""
        order = stage.order or []
        for start in range(0, len(order), BATCH):
            best, best_mean = None, 0.0
            for index in order[start : start + BATCH]:
                if index not in tested and len(tested) >= budget:
                    continue
                tested.add(index)
                gain = self.gain(stage, index)
                error = gain.std() / np.sqrt(len(gain))
                if gain.mean() > max(best_mean, MIN_GAIN_Z[bool(self.plain[index])] * error):
                    best, best_mean = index, float(gain.mean())
            if best is not None:
                return best
        return None


def widths(count: int) -> Array:
    """The width of an idea's columns: a wide idea is shrunk, so that all of it counts about as much as a usual one."""
    return np.full(count, min(1.0, np.sqrt(USUAL_WIDTH / max(count, 1))))
