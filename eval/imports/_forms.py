"""What the answers of a bundle could mean: every form of submission that fits them, the most demanding first.

The order decides where one metric is a special case of another (a single label is also a set of one): a form whose
probes the evaluator takes is tried before one that asks for less.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sandmle.canary import CANARY_COLUMN, canary
from sandmle.eval.imports._record import Refused
from sandmle.submission import EMPTY, SubmissionFormat

__all__ = ["Candidate", "Tables", "candidates", "read_tables"]

USAGE = "Usage"
RUNS = re.compile(r"\d+ \d+( \d+ \d+)*")
MAX_CLASSES = 200
PNG_HEAD = 24


@dataclass(frozen=True)
class Tables:
    """The sample submission and the answers as text, the answers in their own order.

    Attributes:
        train: the training table, empty where there is none: it may know labels that no test row has.
        shape: (height, width) of the first PNG file of the public folder; None without one.
    """

    sample: pd.DataFrame
    answers: pd.DataFrame
    train: pd.DataFrame
    shape: tuple[int, int] | None

    @property
    def id_column(self) -> str:
        """The column that names a test row."""
        return str(self.sample.columns[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """The prediction columns."""
        return tuple(map(str, self.sample.columns[1:]))


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


def read_tables(public: Path, answers: Path) -> Tables:
    """Read both tables.

    Raises:
        Refused: one can't be read, or they name other rows.
    """
    train = public / "train.csv"
    paths = [public / "sample_submission.csv", answers, *([train] if train.is_file() else [])]
    try:
        sample, found, *trains = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths]
    except (ValueError, OSError) as error:
        raise Refused(f"sample submission, answers or train.csv is no CSV file: {error}") from error
    row_id = sample.columns[0]
    if row_id not in found or sample.shape[1] < 2:
        raise Refused(f"the answers have no column {row_id!r}, which names the rows of the sample submission")
    if sorted(sample[row_id]) != sorted(found[row_id]) or found[row_id].duplicated().any():
        raise Refused("the answers name other rows than the sample submission, or one twice")
    known = found.drop(columns=CANARY_COLUMN, errors="ignore")
    return Tables(sample, known, trains[0] if trains else pd.DataFrame(), _picture_shape(public))


def _picture_shape(public: Path) -> tuple[int, int] | None:
    first = next(iter(sorted(public.rglob("*.png"))), None)
    if first is None:
        return None
    with first.open("rb") as stream:
        head = stream.read(PNG_HEAD)
    if head[1:4] != b"PNG" or len(head) < PNG_HEAD:
        return None
    width, height = struct.unpack(">II", head[16:])
    return height, width


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
    if tables.shape and all(RUNS.fullmatch(cell) or cell in ("", EMPTY) for cell in distinct):
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
    if len(distinct) == 2:
        yield from (("probability", {"classes": order}) for order in (classes, classes[::-1]))
    if numeric:
        yield "number", {}
    if 2 <= len(distinct) <= MAX_CLASSES:
        yield "label", {"classes": classes}
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
