"""Do items of train stand in test again?"""

from __future__ import annotations

import numpy as np

from sandmle.eval.acceptance._columns import Columns, read_columns, standardise
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import Splits, conclude
from sandmle.eval.acceptance._nulls import duplicates as count_duplicates
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array

__all__ = ["duplicates"]

DIGITS = 3
SENTENCES = {
    "rows": "rows of train stand in test again",
    "items": "items of train stand in test again, by their features",
    "texts": "texts of train stand in test again",
    "files": "files of train stand in test again",
}


@probe("duplicates", stage=4)
def duplicates(evidence: Evidence, calibration: Calibration) -> Finding:
    """No more test rows equal a training row than in random splits: in columns, features, a free text, bytes of files.

    Numbers are compared to 0.001 standard deviations.
    """
    columns = read_columns(evidence)
    rows = np.arange(len(evidence.train) + len(evidence.test))
    splits = Splits.draw(rows, len(evidence.train), evidence.generator("duplicates"))
    tables = {**_tables(columns), **_files(evidence)}
    return conclude({name: count_duplicates(table, splits) for name, table in tables.items()}, SENTENCES)


def _tables(columns: Columns) -> dict[str, Array]:
    numbers = {name: _rounded(values) for name, values in columns.numeric.items()}
    coded = [codes.astype(np.float64) for codes in (*columns.codes.values(), *columns.texts.values())]
    whole = [*numbers.values(), *coded]
    tables = {
        "rows": whole,
        "items": [numbers[name] for name in columns.derived],
        "texts": [codes.astype(np.float64) for codes in columns.texts.values()],
    }
    return {name: np.column_stack(table) for name, table in tables.items() if table}


def _files(evidence: Evidence) -> dict[str, Array]:
    """Codes of the files' contents, a column for each column of paths; what has no file is like nothing else."""
    if evidence.files is None or evidence.files.empty:
        return {}
    n = len(evidence.train) + len(evidence.test)
    columns = []
    for _, part in evidence.files.groupby("column", sort=True):
        rows = part["row"].to_numpy(np.int64) + np.where(part["split"] == "test", len(evidence.train), 0)
        codes = -1.0 - np.arange(n)
        codes[rows] = np.unique(part["digest"].to_numpy(str), return_inverse=True)[1]
        columns.append(codes)
    return {"files": np.column_stack(columns)}


def _rounded(values: Array) -> Array:
    """Standardised and rounded; an empty cell equals another empty cell."""
    empty = np.isnan(values)
    if empty.all():
        return np.zeros(len(values))
    filled = standardise(np.where(empty, np.nanmean(values), values)[:, None])[:, 0]
    return np.where(empty, np.finfo(np.float64).max, np.round(filled, DIGITS))
