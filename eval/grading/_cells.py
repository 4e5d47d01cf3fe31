"""What the cells of one column mean: ids, labels, sets and rankings of labels, numbers, texts or masks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.grading._fault import InvalidSubmission, quoted
from sandmle.eval.grading._masks import decode_mask
from sandmle.eval.metrics import Array, Values
from sandmle.grades import GradeError
from sandmle.submission import EMPTY
from sandmle.task import SubmissionFormat

__all__ = [
    "MAX_TEXT",
    "canonical",
    "class_index",
    "label_sets",
    "labels",
    "masks",
    "numbers",
    "place",
    "rankings",
    "texts",
]

MAX_TEXT = 1000
"""The longest predicted text, in characters: the space and time that metrics of text take grow with it."""

MAX_FIXED = 1 << 26
"""The most characters of an array whose texts all take as much as the longest: 256 MiB."""

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
                GradeError.OUT_OF_DOMAIN, f"{place(column, row)}: {quoted(cell)} is not one of the classes"
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
            raise InvalidSubmission(GradeError.NOT_NUMERIC, f"{place(column, row)}: {what}")
        found[row] = value = float(text)
        if not math.isfinite(value):
            raise InvalidSubmission(GradeError.NON_FINITE, f"{place(column, row)}: {quoted(cell)} is not finite")
    return found


def label_sets(cells: Sequence[str], index: Mapping[str, int], column: str) -> Array:
    """Which labels each cell of a column holds, 0 or 1, shape (n, K); ``none`` and an empty cell hold no label.

    Raises:
        InvalidSubmission: a word is not a label or stands there twice (out_of_domain); names column and row.
    """
    found = np.zeros((len(cells), len(index)))
    for row, cell in enumerate(cells):
        words = cell.split()
        if words != [EMPTY]:
            found[row, _positions(words, index, column, row)] = 1.0
    return found


def rankings(cells: Sequence[str], index: Mapping[str, int], top: int, column: str) -> Array:
    """Class indices of each cell's labels in their order, shape (n, top), -1 after the last.

    Raises:
        InvalidSubmission: a word is not a label or stands there twice, or a cell holds none or more than ``top``
            (out_of_domain); names column and row.
    """
    found = np.full((len(cells), top), -1.0)
    for row, cell in enumerate(cells):
        positions = _positions(cell.split(), index, column, row)
        if not 1 <= len(positions) <= top:
            raise InvalidSubmission(
                GradeError.OUT_OF_DOMAIN, f"{place(column, row)}: {len(positions)} labels, not 1 to {top}"
            )
        found[row, : len(positions)] = positions
    return found


def texts(cells: Sequence[str], column: str) -> Values:
    """The texts of a column without the space around them, numpy str of shape (n,).

    Where a long one among many would swell them all, they are Python's own, which metrics that compare whole texts take
    as well.

    Raises:
        InvalidSubmission: a text has more than ``MAX_TEXT`` characters (out_of_domain); names column and row.
    """
    found = [cell.strip() for cell in cells]
    for row, text in enumerate(found):
        if len(text) > MAX_TEXT:
            raise InvalidSubmission(
                GradeError.OUT_OF_DOMAIN, f"{place(column, row)}: {len(text)} characters, {MAX_TEXT} is the most"
            )
    fixed = len(found) * max(map(len, found), default=0) <= MAX_FIXED
    return np.array(found, dtype=np.str_ if fixed else object)


def masks(cells: Sequence[str], shape: tuple[int, int], column: str) -> Array:
    """The masks of a column of run lengths, 0 or 1, shape (n, height * width).

    Raises:
        InvalidSubmission: see ``decode_mask``; names column and row.
    """
    found = np.empty((len(cells), shape[0] * shape[1]))
    for row, cell in enumerate(cells):
        try:
            found[row] = decode_mask(cell, shape)
        except InvalidSubmission as fault:
            raise InvalidSubmission(fault.code, f"{place(column, row)}: {fault.detail}") from fault
    return found


def place(column: str, row: int) -> str:
    """Where a fault is, as a message says it."""
    return f"column {column!r}, row {row + 1}"


def _positions(words: Sequence[str], index: Mapping[str, int], column: str, row: int) -> list[int]:
    """The class indices of the labels of one cell, each of which may stand there once."""
    seen: dict[int, None] = {}
    for word in words:
        position = index.get(canonical(word))
        if position is None:
            what = f"{quoted(word)} is not one of the labels"
            raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, f"{place(column, row)}: {what}")
        if position in seen:
            raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, f"{place(column, row)}: {quoted(word)} stands twice")
        seen[position] = None
    return list(seen)
