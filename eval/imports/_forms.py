"""What the answers of a bundle could mean: every form of submission that fits them, the most demanding first.

The order decides where one metric is a special case of another (a single label is also a set of one): a form whose
probes the evaluator takes is tried before one that asks for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sandmle.canary import CANARY_COLUMN, canary
from sandmle.eval.imports._record import Refused
from sandmle.eval.imports._tables import USAGE, Tables
from sandmle.submission import EMPTY, SubmissionFormat

__all__ = ["Candidate", "candidates"]

RUNS = re.compile(r"\d+ \d+( \d+ \d+)*")
MAX_CLASSES = 200
MAX_PIXELS = 1 << 26
"""Of all masks of a task together: our grader holds them at once."""


@dataclass(frozen=True)
class Candidate:
    """One reading: the form, and the truth as ``answers.csv`` would hold it.

    Attributes:
        target: name of the truth's column.
        truth: a cell for each row of the answers.
    """

    form: SubmissionFormat
    target: str
    truth: tuple[str, ...]

    def answers(self, tables: Tables, task_id: str) -> pd.DataFrame:
        """The answers in our layout."""
        table = pd.DataFrame({self.form.id_column: tables.answers[tables.id_column], self.target: self.truth})
        for name in (self.form.group_column, USAGE):
            if name in tables.answers:
                table[name] = tables.answers[name]
        return table.assign(**{CANARY_COLUMN: canary(task_id)})

    def perfect(self, tables: Tables) -> pd.DataFrame:
        """The submission that says the truth."""
        table = pd.DataFrame({self.form.id_column: tables.answers[tables.id_column]})
        truth, classes = pd.Series(self.truth), self.form.classes
        for name, label in zip(self.form.prediction_columns, classes or self.form.prediction_columns, strict=False):
            match self.form.kind:
                case "probability":
                    table[name] = (truth == classes[1]).astype(float)
                case "class_probabilities":
                    table[name] = (truth == label).astype(float)
                case "label_probabilities":
                    table[name] = [float(label in cell.split()) for cell in self.truth]
                case _:
                    table[name] = truth
        return table


def candidates(tables: Tables) -> Iterator[Candidate]:
    """Every reading that fits.

    Raises:
        Refused: the answers have no column that could hold the truth.
    """
    others = [str(name) for name in tables.answers if name not in (tables.id_column, USAGE)]
    if len(tables.columns) > 1:
        yield from _per_class(tables, others)
        return
    target = tables.columns[0] if tables.columns[0] in others else others[0] if len(others) == 1 else ""
    if not target:
        raise Refused(f"no column of the answers is the truth of {tables.columns[0]!r}: {', '.join(others)}")
    cells = tuple(tables.answers[target])
    seen = set(tables.train[target]) - {""} if target in tables.train else set()
    for kind, more in _single(sorted(set(cells) | seen), [name for name in others if name != target], tables):
        told = {"id_column": tables.id_column, "prediction_columns": tables.columns, "kind": kind, **more}
        try:
            yield Candidate(SubmissionFormat.model_validate(told), target, cells)
        except ValidationError:  # such as a class called none
            continue


def _single(distinct: list[str], others: list[str], tables: Tables) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kinds of one prediction column, with what else their form needs; ``distinct`` cells of the truth."""
    numeric = all(map(_is_number, distinct))
    words = sorted({word for cell in distinct for word in cell.split() if word != EMPTY})
    few = tables.shape and tables.shape[0] * tables.shape[1] * len(tables.answers) <= MAX_PIXELS
    if few and all(RUNS.fullmatch(cell) or cell in ("", EMPTY) for cell in distinct):
        yield "mask", {"mask_shape": tables.shape}
    classes = tuple(sorted(distinct, key=float) if numeric else distinct)
    labels = 2 <= len(distinct) <= MAX_CLASSES and all(cell.split() == [cell] for cell in distinct)
    if labels:
        longest = max(len(cell.split()) for cell in tables.sample[tables.columns[0]])
        yield from (
            ("ranked_labels", {"classes": classes, "top": top}) for top in sorted({longest, 3, 5}, reverse=True)
        )
    if 2 <= len(words) <= MAX_CLASSES:
        yield "label_set", {"classes": tuple(words)}
    if numeric:
        yield from (("relevance", {"group_column": name}) for name in others)
    orders = (classes, classes[::-1]) if len(distinct) == 2 else (classes,)  # the second of two is the positive one
    if len(distinct) == 2:
        yield from (("probability", {"classes": order}) for order in orders)
    if numeric:
        yield "number", {}
    if 2 <= len(distinct) <= MAX_CLASSES:
        yield from (("label", {"classes": order}) for order in orders)
    yield "text", {}


def _per_class(tables: Tables, others: list[str]) -> Iterator[Candidate]:
    """Kinds of one prediction column per class, whose truth is a column of labels or one of 0 and 1 per class."""
    columns = tables.columns
    if set(columns) <= set(others):
        given = tables.answers[list(columns)].to_numpy()
        hot = [[_is_number(cell) and float(cell) == 1 for cell in row] for row in given]
        rows = [[name for name, on in zip(columns, row, strict=True) if on] for row in hot]
        cells, target, classes = tuple(" ".join(row) or EMPTY for row in rows), "label", columns
    else:
        if len(others) != 1:
            raise Refused(f"no column of the answers is the truth of {', '.join(columns)}")
        target, cells = others[0], tuple(tables.answers[others[0]])
        labels = sorted({word for cell in cells for word in (cell, *cell.split())}, key=len)
        named = [[label for label in labels if name.endswith(label)] for name in columns]
        classes = tuple(found[-1] if found else name for name, found in zip(columns, named, strict=True))
    for kind in ("class_probabilities", "label_probabilities"):
        alone = all(cell in classes for cell in cells)
        if alone == (kind == "class_probabilities") and len(set(classes)) == len(columns):
            form = SubmissionFormat(id_column=tables.id_column, prediction_columns=columns, kind=kind, classes=classes)
            yield Candidate(form, target, cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
