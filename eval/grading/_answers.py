"""The hidden labels of a task, read from ``answers.csv`` and encoded.

Columns are selected by name: the id column, the target, ``Usage`` (Public, Private, or Ignored for a row that must be
there but counts nowhere; all rows are Private where there is no such column), for ``relevance`` the group column, and
``canary``, which is ignored. The target is the prediction column of the submission, or, where a submission holds one
column per class, the one column that is none of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandmle.errors import BadInput
from sandmle.eval.grading._cells import canonical
from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.eval.grading._kinds import decode_truth
from sandmle.eval.grading._table import parse_csv
from sandmle.eval.metrics import Array, Values
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import SubmissionFormat, Task

__all__ = ["AnswerKey", "load_answers", "read_answers"]

USAGE = "Usage"
CANARY = "canary"
_SMALL = 1 << 20
"""Bytes of a file whose key is remembered."""


@dataclass(frozen=True, eq=False)
class AnswerKey:
    """The hidden labels of a task, in the order of ``answers.csv``.

    Attributes:
        ids: the n test rows, in canonical spelling.
        truth: the n rows' truth as ``Metric.score`` takes it; groups of ``relevance`` are numbered as they come.
        private: shape (n,), True where a row counts for the score.
        ignored: the same where a row counts nowhere; None where every row that is not Private is Public.
    """

    ids: tuple[str, ...]
    truth: Values
    private: NDArray[np.bool_]
    ignored: NDArray[np.bool_] | None = None

    @property
    def public(self) -> NDArray[np.bool_]:
        """Shape (n,), True where a row counts for the Public score."""
        return ~self.private if self.ignored is None else ~(self.private | self.ignored)

    @cached_property
    def position(self) -> dict[str, int]:
        """The row of each id."""
        return {name: row for row, name in enumerate(self.ids)}


def load_answers(task: Task) -> AnswerKey:
    """The answer key of a task.

    Raises:
        BadInput: ``answers.csv`` is missing or broken, says where; or our graders can't score the task.
    """
    form = task.manifest.submission
    if form is None:
        raise BadInput(f"{task.root}: only its benchmark's own grader knows the format; prepare the task again")
    try:
        found = task.answers.stat()
    except OSError as error:
        raise BadInput(f"{task.answers}: {error.strerror or error}") from error
    if found.st_size > _SMALL:
        return read_answers(task.answers, form)
    return _read_once(task.answers, form, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=256)
def _read_once(path: Path, form: SubmissionFormat, _state: tuple[int, ...]) -> AnswerKey:
    """The key of a file in a state: in training one task is graded a hundred times, and half of that was reading it."""
    return read_answers(path, form)


def read_answers(path: Path, form: SubmissionFormat) -> AnswerKey:
    """The answer key in the file ``path``, whose submissions look like ``form``.

    Raises:
        BadInput: the file is missing or broken; says where.
    """
    try:
        header, rows = parse_csv(path.read_bytes())
        columns = dict(zip(header, zip(*rows, strict=True), strict=False))
        return _encode(columns, form)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    except InvalidSubmission as fault:
        raise BadInput(f"{path}: {fault.detail}") from fault
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error


def _encode(columns: dict[str, tuple[str, ...]], form: SubmissionFormat) -> AnswerKey:
    if not columns:
        raise ValueError("no rows")
    if form.id_column not in columns:
        raise ValueError(f"no id column {form.id_column!r}")
    ids = tuple(canonical(cell) for cell in columns[form.id_column])
    if len(set(ids)) < len(ids):
        raise ValueError(f"column {form.id_column!r} holds the same id twice")
    target = _target(columns, form)
    truth = decode_truth(columns[target], form, target)
    usage = _usage(columns.get(USAGE), len(ids))
    private = usage == "Private"
    if form.kind == "relevance":
        truth = np.column_stack([truth, _groups(columns, form, private)])
    ignored = usage == "Ignored"
    return AnswerKey(ids, truth, private, ignored if ignored.any() else None)


def _target(columns: dict[str, tuple[str, ...]], form: SubmissionFormat) -> str:
    if form.kind not in COLUMN_PER_CLASS:
        target = form.prediction_columns[0]
        if target not in columns:
            raise ValueError(f"no target column {target!r}")
        return target
    others = [name for name in columns if name not in (form.id_column, USAGE, CANARY)]
    if len(others) != 1:
        raise ValueError(f"needs one target column beside {form.id_column!r}, {USAGE} and {CANARY}; has {len(others)}")
    return others[0]


def _groups(columns: dict[str, tuple[str, ...]], form: SubmissionFormat, private: NDArray[np.bool_]) -> Array:
    """The number of each row's group, shape (n,); a group lies wholly within Public or Private."""
    if form.group_column not in columns:
        raise ValueError(f"no group column {form.group_column!r}")
    names = [canonical(cell) for cell in columns[form.group_column]]
    number = {name: position for position, name in enumerate(dict.fromkeys(names))}
    groups = np.array([number[name] for name in names], dtype=np.float64)
    if set(groups[private]) & set(groups[~private]):
        raise ValueError(f"a group of {form.group_column!r} is both Public and Private")
    return groups


def _usage(cells: Sequence[str] | None, n_rows: int) -> NDArray[np.str_]:
    """The Usage of each row, shape (n,)."""
    usage = ["Private"] * n_rows if cells is None else [cell.strip() for cell in cells]
    if not set(usage) <= {"Public", "Private", "Ignored"}:
        raise ValueError(f"column {USAGE!r} must hold Public, Private or Ignored only")
    if "Private" not in usage:
        raise ValueError(f"column {USAGE!r} marks no row Private, so nothing can be scored")
    return np.array(usage)
