"""Does what an agent would see hold the answers? By the bytes of a file, and by the columns of every table.

Found is what lies there openly: a column that holds the truth, beside the test rows' ids or in the order of the sample
submission. What somebody hid, in the bits of a picture say, is not.
"""

from __future__ import annotations

import pandas as pd

from sandmle.eval.imports._bundle import Bundle
from sandmle.eval.imports._recognise import Recognised
from sandmle.eval.imports._tables import read_table
from sandmle.files import sha256_file

__all__ = ["find_leak"]

MIN_ROWS = 20
MIN_AGREEMENT = 0.99
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def find_leak(bundle: Bundle, found: Recognised) -> str:
    """Which public file holds the answers, and how; empty if none does.

    A table does if it has ``MIN_ROWS`` test rows or more and one of its columns holds the truth of ``MIN_AGREEMENT`` of
    them, and of those whose truth is not the most common value; a truth of one value proves nothing.

    Raises:
        Refused: a table can't be read.
    """
    secrets = {sha256_file(bundle.root / name): name for name in (bundle.answers, bundle.evaluator)}
    tables, row_id = found.tables, found.tables.id_column
    truth = pd.Series(found.reading.candidate.truth, index=list(tables.answers[row_id]))[list(tables.sample[row_id])]
    for path in bundle.public_files():
        name, separator = path.relative_to(bundle.public), SEPARATORS.get(path.suffix.lower())
        if copied := secrets.get(sha256_file(path)):
            return f"prepared/public/{name} is a copy of {copied}"
        if separator and (column := _telling(read_table(path, separator), row_id, truth)):
            return f"column {column!r} of prepared/public/{name} holds the answers"
    return ""


def _telling(table: pd.DataFrame, row_id: str, truth: pd.Series) -> str:
    """The column of a table that holds the truth, by the rows' ids or in their order; empty if none does."""
    found = ""
    if row_id in table:
        ids, known = table[row_id].map(_plain), truth.index.map(_plain)
        if not known.is_unique:
            ids, known = table[row_id], truth.index
        found = _holder(table[~ids.duplicated()].set_index(ids[~ids.duplicated()]), truth.set_axis(known))
    if not found and len(table) == len(truth):
        found = _holder(table.set_index(truth.index), truth)
    return found


def _holder(table: pd.DataFrame, truth: pd.Series) -> str:
    """The column that agrees with the truth where both have a row; also where it is not the most common value."""
    shared = table.index.intersection(truth.index)
    wanted = truth.loc[shared].map(_plain)
    if len(shared) < MIN_ROWS or wanted.nunique() < 2:
        return ""
    rare = wanted != wanted.mode()[0]
    for name, column in table.items():
        agrees = column.loc[shared].map(_plain) == wanted
        if min(agrees.mean(), agrees[rare].mean()) >= MIN_AGREEMENT:
            return str(name)
    return ""


def _plain(cell: str) -> str:
    """``1`` for ``1.0`` and ``1e0``: a number is leaked however it is written."""
    try:
        return repr(float(cell))
    except ValueError:
        return cell.strip()
