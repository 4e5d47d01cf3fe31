"""``compare``: two runs row by row, paired by task, so that what differs from task to task cancels out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.report._cells import Cell, labels_of, rows_of, scales_of, tiered, won_medal
from sandmle.eval.report._record import Comparison, Estimate
from sandmle.eval.report._scores import Groups, headrooms, human_ranks, ranked_tasks
from sandmle.eval.report._statistics import paired_difference
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
    labels, scales = labels_of(runs), scales_of(runs)
    first, second = (rows_of(run, label, scales) for run, label in zip(runs, labels, strict=True))
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
    ranked = ranked_tasks((one, other))
    found = paired_difference(other.rewards, one.rewards)
    return Comparison(
        scaffold=_named(one.scaffold, other.scaffold),
        policy=_named(one.policy, other.policy),
        tasks=found[1] if found else 0,
        reward=found[0] if found else None,
        any_medal=_difference(*(cell.values(won_medal, tiered) for cell in (one, other))),
        headroom=_difference(headrooms(one), headrooms(other)),
        human_rank=_difference(human_ranks(one, ranked), human_ranks(other, ranked)),
    )


def _difference(one: Groups, other: Groups) -> Estimate | None:
    found = paired_difference(other, one)
    return found[0] if found else None


def _named(one: str, other: str) -> str:
    return one if one == other else f"{one} → {other}"
