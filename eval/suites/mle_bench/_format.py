"""A competition's submission format and answers as our graders want them.

The answers of a competition with one column per class mark the classes with 1; ours name them in one column. A row
whose marks are negative was not part of the competition's score: its Usage is Ignored.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sandmle.canary import CANARY_COLUMN, canary
from sandmle.errors import BadInput
from sandmle.eval.metrics import get_metric
from sandmle.eval.suites.mle_bench._table import Competition
from sandmle.submission import COLUMN_PER_CLASS, EMPTY, PredictionKind, SubmissionFormat

__all__ = ["read_header", "submission_format", "write_answers"]

TARGET = "target"
BINARY = ("0", "1")


def read_header(path: Path) -> tuple[str, ...]:
    """The column names of a CSV file.

    Raises:
        BadInput: it can't be read.
    """
    return tuple(next(_rows(path)))


def submission_format(competition: Competition, header: Sequence[str], labels: Iterable[str]) -> SubmissionFormat:
    """What a submission must look like.

    Args:
        competition: one that our graders can score.
        header: of the sample submission.
        labels: those of the answers.
    """
    kind, columns = _kind(competition), _columns(competition, header)
    classes: tuple[str, ...] = ()
    if kind in COLUMN_PER_CLASS:
        classes = tuple(map(_label, columns))
    elif kind == "probability":
        classes = BINARY
    elif kind == "label":
        classes = competition.classes or tuple(sorted(labels))
    return SubmissionFormat(
        id_column=competition.id_column,
        prediction_columns=columns,
        kind=kind,
        classes=classes,
        sums_to_one=competition.sums_to_one,
    )


def write_answers(
    source: Path, target: Path, competition: Competition, header: Sequence[str], task_id: str
) -> set[str]:
    """Write the answers ``source`` of a competition that our graders can score as the new file ``target``.

    Returns:
        The labels in it; empty for other kinds than ``label``.

    Raises:
        BadInput: a column is missing, or a row has no truth; names file and row.
    """
    kind, columns = _kind(competition), _columns(competition, header)
    rows = _rows(source)
    found = next(rows)
    if missing := [name for name in (competition.id_column, *columns) if name not in found]:
        raise BadInput(f"{source}: there is no column {missing[0]!r}")
    places = [found.index(name) for name in (competition.id_column, *columns)]
    names = [_label(name) for name in columns]
    labels: set[str] = set()
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        name = TARGET if kind in COLUMN_PER_CLASS else columns[0]
        writer.writerow([competition.id_column, name, "Usage", CANARY_COLUMN])
        mark = canary(task_id)
        for number, row in enumerate(rows, start=1):
            try:
                row_id, *cells = (row[place] for place in places)
                truth, usage = _truth(cells, names, kind)
            except (IndexError, ValueError) as error:
                raise BadInput(f"{source}: row {number} has no truth ({error})") from error
            writer.writerow([row_id, truth, usage, mark])
            if kind == "label":
                labels.add(truth)
    return labels


def _truth(cells: Sequence[str], names: Sequence[str], kind: PredictionKind) -> tuple[str, str]:
    """The cell of the target column, and the row's Usage."""
    if kind not in COLUMN_PER_CLASS:
        return cells[0], "Private"
    marks = [float(cell) for cell in cells]
    if sum(marks) < 0:
        return EMPTY, "Ignored"
    marked = [name for name, mark in zip(names, marks, strict=True) if mark > 0]
    if kind == "class_probabilities" and len(marked) != 1:
        raise ValueError(f"{len(marked)} classes are marked")
    return " ".join(marked) or EMPTY, "Private"


def _kind(competition: Competition) -> PredictionKind:
    return get_metric(competition.metric).prediction


def _columns(competition: Competition, header: Sequence[str]) -> tuple[str, ...]:
    return competition.columns or tuple(name for name in header if name != competition.id_column)


def _label(column: str) -> str:
    """A class column's name as a label, which holds no space."""
    return "_".join(column.split())


def _rows(path: Path) -> Iterator[list[str]]:
    """The header and the rows; blank lines are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            found = (row for row in csv.reader(stream) if row)
            yield next(found, [])
            yield from found
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"{path}: not readable as CSV ({error})") from error
