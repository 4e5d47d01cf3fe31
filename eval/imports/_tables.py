"""Reading the tables of a bundle as text, with bounds: whoever made it decides how large and how broken they are."""

from __future__ import annotations

import csv
import struct
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sandmle.canary import CANARY_COLUMN
from sandmle.eval.imports._record import Refused

__all__ = ["MAX_TABLE", "USAGE", "Tables", "read_table", "read_tables"]

USAGE = "Usage"
MAX_TABLE = 256 << 20
"""Bytes of the largest table that is read."""
MAX_COLUMNS = 10_000
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


def read_table(path: Path, separator: str = ",") -> pd.DataFrame:
    """A CSV file as text.

    Raises:
        Refused: it is none, or has more than ``MAX_TABLE`` bytes or ``MAX_COLUMNS`` columns.
    """
    if path.stat().st_size > MAX_TABLE:
        raise Refused(f"{path.name} has more than {MAX_TABLE >> 20} MiB")
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            width = len(next(csv.reader(stream, delimiter=separator), []))
        if width > MAX_COLUMNS:
            raise Refused(f"{path.name} has more than {MAX_COLUMNS} columns")
        return _unshifted(pd.read_csv(path, dtype=str, keep_default_na=False, sep=separator))
    except (ValueError, csv.Error) as error:
        raise Refused(f"{path.name} is no CSV file: {error}") from error


def _unshifted(table: pd.DataFrame) -> pd.DataFrame:
    """Every cell below its own name: of rows longer than the header pandas makes the first columns an index.

    Columns that have no name and no content, as after a comma at the end of each row, go.
    """
    if isinstance(table.index, pd.RangeIndex):
        return table
    named = len(table.columns)
    flat = table.reset_index()
    flat.columns = pd.Index([*table.columns, *(f"column {n + 1} without a name" for n in range(named, flat.shape[1]))])
    empty = [name for name in flat.columns[named:] if not flat[name].str.strip().any()]
    return flat.drop(columns=empty)


def read_tables(public: Path, answers: Path) -> Tables:
    """Read sample submission, answers and, where there is one, ``train.csv``.

    Raises:
        Refused: one can't be read, or they name other rows.
    """
    train = public / "train.csv"
    sample, found = read_table(public / "sample_submission.csv"), read_table(answers)
    row_id = sample.columns[0]
    if row_id not in found or sample.shape[1] < 2 or sample.empty:
        raise Refused(f"the answers have no column {row_id!r}, which names the rows of the sample submission")
    if sorted(sample[row_id]) != sorted(found[row_id]) or found[row_id].duplicated().any():
        raise Refused("the answers name other rows than the sample submission, or one twice")
    known = found.drop(columns=CANARY_COLUMN, errors="ignore")
    return Tables(sample, known, read_table(train) if train.is_file() else pd.DataFrame(), _picture_shape(public))


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
