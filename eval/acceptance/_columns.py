"""The public tables as arrays: features of train and test side by side, labels in the metric's form.

Rows of train come first, then those of test. Dates count as numbers (days), text as categories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.metrics import Array
from sandmle.task import SubmissionFormat

__all__ = ["Columns", "decode", "label_numbers", "read_columns", "standardise"]

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """The feature columns that train and test share, identifiers and target left out.

    Attributes:
        n_train: rows of train; the rest are test.
        numeric: floats with NaN where empty, by column.
        codes: level numbers 0..K-1 by categorical column; an empty cell is a level of its own.
    """

    n_train: int
    numeric: dict[str, Array]
    codes: dict[str, Codes]

    def matrix(self) -> Array:
        """Standardised numeric columns, their emptiness, and one 0/1 column per level: shape (rows, p)."""
        blocks = [np.zeros((len(next(iter((*self.numeric.values(), *self.codes.values())), [])), 0))]
        for values in self.numeric.values():
            empty = np.isnan(values)
            filled = np.where(empty, np.nanmean(values) if not empty.all() else 0.0, values)
            blocks.append(standardise(filled[:, None]))
            if empty.any():
                blocks.append(empty[:, None].astype(np.float64))
        blocks += [(codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64) for codes in self.codes.values()]
        return np.hstack(blocks)


def read_columns(evidence: Evidence) -> Columns:
    """The shared feature columns of ``evidence.train`` and ``evidence.test``."""
    skipped = {evidence.target, evidence.submission.id_column}
    numeric: dict[str, Array] = {}
    codes: dict[str, Codes] = {}
    for name in (name for name in evidence.train if name in evidence.test and name not in skipped):
        both = pd.concat([evidence.train[name], evidence.test[name]], ignore_index=True)
        values = _numbers(both)
        if values is None:
            codes[str(name)] = pd.factorize(both, sort=True, use_na_sentinel=False)[0].astype(np.int64)
        else:
            numeric[str(name)] = values
    return Columns(len(evidence.train), numeric, codes)


def _numbers(column: pd.Series) -> Array | None:
    if pd.api.types.is_bool_dtype(column):
        return None
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(np.float64, na_value=np.nan)
    if not column.dropna().astype(str).str.fullmatch(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?").all():
        return None
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601")
    days = (dates - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)


def standardise(matrix: Array) -> Array:
    """Columns with mean 0 and population standard deviation 1; constant columns become 0."""
    centred = matrix - matrix.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0), dtype=np.float64)


def label_numbers(labels: pd.Series, submission: SubmissionFormat) -> Array:
    """A target column as class indices, or as numbers where there are no classes; shape (rows,).

    Raises:
        ValueError: a label is not one of the classes.
    """
    if not submission.classes:
        return labels.to_numpy(np.float64)
    index = {name: float(k) for k, name in enumerate(submission.classes)}
    plain = [str(value) for value in labels]
    whole = [text.removesuffix(".0") if text not in index else text for text in plain]
    if unknown := sorted({text for text in whole if text not in index}):
        raise ValueError(f"{labels.name}: {unknown[0]!r} is not one of the classes {', '.join(submission.classes)}")
    return np.array([index[text] for text in whole])


def decode(table: pd.DataFrame, submission: SubmissionFormat) -> Array:
    """The predictions of a valid submission in the form that the metric takes."""
    columns = table[list(submission.prediction_columns)]
    if submission.kind == "label":
        return label_numbers(columns.iloc[:, 0], submission)
    values = columns.to_numpy(np.float64)
    return values if submission.kind == "class_probabilities" else values[:, 0]
