"""``matrix``: one number of many runs as a table, policies down, suites and scaffolds across.

Made for two questions: how well policies that were trained in one scaffold do in another, and how the rows of the
paper's table (base, Seed-SFT, SandMLE, SFT+RL) come out here. A run may be given a name for its row, which keeps
checkpoints apart that were served alike. Published figures (``published.json``) stand beside a cell of the same row,
suite and scaffold, if its run was played by the rules that such figures are for: protocol ``paper`` or ``dojo``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

from sandmle.errors import BadInput
from sandmle.eval.report._cells import Cell, reward_of, rows_of, scales_of, tiered, won_medal
from sandmle.eval.report._record import Estimate
from sandmle.eval.report._scores import Groups, headrooms, human_ranks, ranked_tasks
from sandmle.eval.report._statistics import clustered_mean
from sandmle.eval.runs import Run, read_run
from sandmle.record import Record, VersionedRecord

__all__ = ["MATRIX_VALUES", "Matrix", "MatrixCell", "MatrixValue", "matrix"]

MatrixValue = Literal["any_medal", "reward", "headroom", "human_rank"]
MATRIX_VALUES: tuple[MatrixValue, ...] = get_args(MatrixValue)
_AS_PUBLISHED = ("paper", "dojo")


class MatrixCell(Record):
    """One policy in one scaffold on one suite.

    Attributes:
        row: the run's name, or the policy's where it has none; privileged policies are marked.
        tasks: with a counted episode that has the value, of ``episodes`` such episodes.
        value: None where no episode has it.
        published: by others, of the same row, suite and scaffold.
    """

    row: str
    suite: str
    scaffold: str
    protocol: str
    tasks: int
    episodes: int
    value: Estimate | None
    published: float | None


class Matrix(VersionedRecord):
    """The cells, in the order of the runs."""

    value: MatrixValue
    cells: tuple[MatrixCell, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """Each row once."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[tuple[str, str, str], ...]:
        """Each suite, scaffold and protocol once."""
        return tuple(dict.fromkeys((cell.suite, cell.scaffold, cell.protocol) for cell in self.cells))

    def at(self, row: str, column: tuple[str, str, str]) -> MatrixCell | None:
        """The cell there; None where nothing was run."""
        return next(
            (cell for cell in self.cells if (cell.row, cell.suite, cell.scaffold, cell.protocol) == (row, *column)),
            None,
        )


def matrix(runs: Iterable[tuple[str, Path | str | Run]], value: MatrixValue = "any_medal") -> Matrix:
    """Cross-tabulate runs.

    Args:
        runs: each with the name of its row; an empty name takes the policy's.
        value: what the cells hold.

    Raises:
        BadInput: a run can't be read, or two runs fill the same cell.
    """
    named = [(name, run if isinstance(run, Run) else read_run(run)) for name, run in runs]
    found: dict[tuple[str, ...], MatrixCell] = {}
    for name, run in named:
        for cell in _cells(name, run, [run for _, run in named], value):
            place = (cell.row, cell.suite, cell.scaffold, cell.protocol)
            if place in found:
                raise BadInput(
                    f"{run.folder}: a run before it has {cell.row} in {cell.scaffold} on {cell.suite} already; name the"
                    " rows of runs apart: RUN=NAME"
                )
            found[place] = cell
    return Matrix(value=value, cells=tuple(found.values()))


def _cells(name: str, run: Run, runs: Sequence[Run], value: MatrixValue) -> Iterable[MatrixCell]:
    settings, published = run.record.settings, _published()
    for cell in rows_of(run, "", scales_of(runs)):
        row = name if name and len(settings.models) == 1 else "/".join(filter(None, (name, cell.policy)))
        groups = _values(cell, value)
        known = published.get((row, settings.suite, cell.scaffold, value))
        yield MatrixCell(
            row=f"{row} (privileged)" if cell.privileged else row,
            suite=settings.suite,
            scaffold=cell.scaffold,
            protocol=settings.protocol,
            tasks=len(groups),
            episodes=sum(map(len, groups.values())),
            value=clustered_mean(groups),
            published=known if settings.protocol in _AS_PUBLISHED else None,
        )


def _values(cell: Cell, value: MatrixValue) -> Groups:
    match value:
        case "any_medal":
            return cell.values(won_medal, tiered)
        case "reward":
            return cell.values(reward_of)
        case "headroom":
            return headrooms(cell)
        case "human_rank":
            return human_ranks(cell, ranked_tasks([cell]))


def _published() -> Mapping[tuple[str, str, str, str], float]:
    text = files("sandmle.eval.report").joinpath("published.json").read_text(encoding="utf-8")
    known = json.loads(text)["values"]
    return {(each["row"], each["suite"], each["scaffold"], each["value"]): each["published"] for each in known}
