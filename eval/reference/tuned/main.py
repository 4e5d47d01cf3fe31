"""The command: read the public files and the brief, cross-validate the members, submit their best blend.

``python tuned.py FACTS`` runs where ``input/`` lies and writes submission.csv. FACTS is the JSON object that the frozen
search takes (see its ``main.py``), with one more field: ``seed`` draws folds, forests and kernels.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.forms import submission
from sandmle.eval.acceptance.search.greedy import FOLDS, folds_of, row_losses
from sandmle.eval.acceptance.search.layout import read_sheet
from sandmle.eval.acceptance.search.main import MEAN_METRICS
from sandmle.eval.acceptance.search.targets import read_target
from sandmle.eval.reference.tuned.machines import SHARPNESS, Machine, machines_for
from sandmle.eval.reference.tuned.views import View, views_of

__all__ = ["blend", "main"]

PICKS = 12


@dataclass(frozen=True)
class Member:
    """Predictions out of fold (n, K) and of the test rows (m, K)."""

    name: str
    inside: Array
    found: Array


def main(argument: str) -> None:
    """Run; ``argument`` is FACTS."""
    warnings.filterwarnings("ignore")
    facts, seed = Facts.read(argument), int(json.loads(argument)["seed"])
    with threadpool_limits(1):  # bits move with the number of threads
        sheet = read_sheet(facts)
        target = read_target(facts, sheet.train)
        fold = folds_of(target.y, facts.mode, target.groups, seed)
        members = [
            member(f"{name} on {view.name}", machine, view, target.y, fold)
            for view in views_of(facts, sheet, seed)
            for name, machine in machines_for(view.kind, facts.mode, view.matrix.shape[1], seed)
        ]
        weights = blend(members, target.y, facts.mode)
        inside = np.tensordot(weights, [each.inside for each in members], 1)
        found = np.tensordot(weights, [each.found for each in members], 1)
        bias = float(row_losses(inside, target.y, facts.mode).mean()) if facts.metric in MEAN_METRICS else 0.0
        ids = sheet.test[facts.id_column]
        table = submission(facts, ids, target.back(found, bias), target.back(inside, bias), target.raw)
    table.to_csv("submission.csv", index=False)
    chosen = sorted(zip(weights, [each.name for each in members], strict=True), reverse=True)
    print("; ".join(f"{weight:.2f} {name}" for weight, name in chosen if weight > 0))


def member(name: str, machine: Machine, view: View, y: Array, fold: NDArray[np.int64]) -> Member:
    """Cross-validate a machine on a view; how sharp its probabilities are is set out of fold."""
    x, x_new = view.matrix[: len(y)], view.matrix[len(y) :]
    scores = np.zeros_like(y)
    for k in range(FOLDS):
        held = fold == k
        scores[held] = machine.scores(x[~held], y[~held], x[held])
    options = SHARPNESS if machine.mode == "classes" else (1.0,)
    trials = [machine.predictions(scores, sharpness) for sharpness in options]
    best = int(np.argmin([row_losses(trial, y, machine.mode).mean() for trial in trials]))
    return Member(name, trials[best], machine.predictions(machine.scores(x, y, x_new), options[best]))


def blend(members: list[Member], y: Array, mode: str) -> Array:
    """Weights of the members, summing to 1: greedy selection with replacement on the loss out of fold.

    After R. Caruana and colleagues, Ensemble Selection from Libraries of Models (2004).
    """
    counts, total = np.zeros(len(members)), np.zeros_like(y)
    best, kept = np.inf, counts
    for pick in range(1, PICKS + 1):
        losses = [float(row_losses((total + each.inside) / pick, y, mode).mean()) for each in members]
        chosen = int(np.argmin(losses))
        counts, total = counts + (np.arange(len(members)) == chosen), total + members[chosen].inside
        if losses[chosen] < best:
            best, kept = losses[chosen], counts
    return np.asarray(kept / kept.sum())
