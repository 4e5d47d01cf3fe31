"""Does what an agent would see hold the answers? By the bytes of a file, and by the columns of every table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sandmle.eval.imports._bundle import Bundle
from sandmle.eval.imports._recognise import Recognised
from sandmle.files import sha256_file

__all__ = ["find_leak"]

MIN_ROWS = 20
MIN_AGREEMENT = 0.99
MAX_TABLE = 256 << 20
"""Bytes of the largest table that is looked through."""


def find_leak(bundle: Bundle, found: Recognised) -> str:
    """Which public file holds the answers, and how; empty if none does.

    A table does if it names ``MIN_ROWS`` test rows or more by their ids and one of its columns holds the truth of
    ``MIN_AGREEMENT`` of them; a truth of one value proves nothing.
    """
    secrets = {sha256_file(bundle.root / name): name for name in (bundle.answers, bundle.evaluator)}
    row_id = found.tables.id_column
    truth = pd.Series(found.reading.candidate.truth, index=list(found.tables.answers[row_id]))
    for path in bundle.public_files():
        name = path.relative_to(bundle.public)
        if sha256_file(path) in secrets:
            return f"prepared/public/{name} is a copy of {secrets[sha256_file(path)]}"
        if path.suffix == ".csv" and path.stat().st_size <= MAX_TABLE and (column := _telling(path, row_id, truth)):
            return f"column {column!r} of prepared/public/{name} holds the answers"
    return ""


def _telling(path: Path, row_id: str, truth: pd.Series) -> str:
    """The column of a table that holds the truth; empty if none does."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError):
        return ""
    if row_id not in table:
        return ""
    table = table.drop_duplicates(row_id).set_index(row_id)
    shared = table.index.intersection(truth.index)
    wanted = truth.loc[shared]
    if len(shared) < MIN_ROWS or wanted.nunique() < 2:
        return ""
    agreement = {str(name): float((table[name].loc[shared] == wanted).mean()) for name in table}
    return next((name for name, share in agreement.items() if share >= MIN_AGREEMENT), "")
