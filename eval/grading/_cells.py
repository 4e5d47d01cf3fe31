"""What a single cell means: an id, a label or a number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.grading._fault import InvalidSubmission, quoted
from sandmle.eval.metrics import Array
from sandmle.grades import GradeError
from sandmle.task import SubmissionFormat

__all__ = ["canonical", "class_index", "labels", "numbers"]

WHOLE_FLOAT = re.compile(r"[+-]?[0-9]+\.0*")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
MAX_NUMBER = 512


def canonical(cell: str) -> str:
    """The spelling under which ids and labels are compared: no space around, ``7`` for ``7.0``."""
    text = cell.strip()
    return text.split(".")[0] if "." in text and WHOLE_FLOAT.fullmatch(text) else text


def class_index(form: SubmissionFormat) -> dict[str, int]:
    """The index of each class under its canonical spelling.

    Raises:
        BadInput: two classes have the same one.
    """
    index = {canonical(label): position for position, label in enumerate(form.classes)}
    if len(index) < len(form.classes):
        raise BadInput(f"two of the classes {', '.join(form.classes)} can't be told apart; mend task.json")
    return index


def labels(cells: Sequence[str], index: Mapping[str, int], column: str) -> Array:
    """Class indices of a column of labels, shape (n,).

    Raises:
        InvalidSubmission: a cell is not one of the classes (out_of_domain); names column and row.
    """
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        position = index.get(canonical(cell))
        if position is None:
            raise InvalidSubmission(
                GradeError.OUT_OF_DOMAIN, f"{_place(column, row)}: {quoted(cell)} is not one of the classes"
            )
        found[row] = position
    return found


def numbers(cells: Sequence[str], column: str) -> Array:
    """Floats of a column of numbers, shape (n,), all finite.

    A number is written in ASCII digits with an optional sign, decimal point and exponent.

    Raises:
        InvalidSubmission: a cell is not a number (not_numeric) or is not finite (non_finite); names column and row.
    """
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        text = cell.strip()
        if len(text) > MAX_NUMBER or not (NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text)):
            what = f"{quoted(cell)} is not a number" if text else "the cell is empty"
            raise InvalidSubmission(GradeError.NOT_NUMERIC, f"{_place(column, row)}: {what}")
        found[row] = value = float(text)
        if not math.isfinite(value):
            raise InvalidSubmission(GradeError.NON_FINITE, f"{_place(column, row)}: {quoted(cell)} is not finite")
    return found


def _place(column: str, row: int) -> str:
    return f"column {column!r}, row {row + 1}"
