"""``compare``: two runs row by row, paired by task, so that what differs from task to task cancels out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.report._record import Comparison
from sandmle.eval.report._statistics import paired_difference
from sandmle.eval.report._summarize import Cell, labels_of, reward_of, rows_of, tiered, won_medal
from sandmle.eval.runs import Run, read_run

__all__ = ["compare"]


def compare(one: Path | str | Run, other: Path | str | Run) -> tuple[Comparison, ...]:
    """Second run less first, for each scaffold and policy that both have, over the tasks that both have.

    Where each run has one row only, these are compared whatever they are called: two models, or two scaffolds.

    Raises:
        BadInput: a run can't be read, the runs differ in protocol, reward, temperature or budget, or they share no row
            or no task.
    """
    runs = [run if isinstance(run, Run) else read_run(run) for run in (one, other)]
    labels = labels_of(runs)
    first, second = (rows_of(run, label) for run, label in zip(runs, labels, strict=True))
    found = tuple(_compared(a, b) for a, b in _pairs(first, second))
    if not any(comparison.tasks for comparison in found):
        raise BadInput(f"{runs[0].folder} and {runs[1].folder} have no finished task in common")
    return found


def _pairs(first: Sequence[Cell], second: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    named = {(cell.scaffold, cell.policy): cell for cell in second}
    pairs = [(cell, named[cell.scaffold, cell.policy]) for cell in first if (cell.scaffold, cell.policy) in named]
    if not pairs:
        there = ", ".join(f"{cell.scaffold} {cell.policy}" for cell in (*first, *second))
        raise BadInput(f"the runs have no scaffold and policy in common: {there}")
    return pairs


def _compared(one: Cell, other: Cell) -> Comparison:
    reward = paired_difference(other.values(reward_of), one.values(reward_of))
    medal = paired_difference(_medals(other), _medals(one))
    return Comparison(
        scaffold=_named(one.scaffold, other.scaffold),
        policy=_named(one.policy, other.policy),
        tasks=reward[1] if reward else 0,
        reward=reward[0] if reward else None,
        any_medal=medal[0] if medal else None,
    )


def _medals(cell: Cell) -> dict[str, list[float]]:
    return cell.values(won_medal, tiered)


def _named(one: str, other: str) -> str:
    return one if one == other else f"{one} → {other}"
