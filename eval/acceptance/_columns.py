"""What train and test show of an item, side by side: table columns and the features worked out from its files.

Rows of train come first, then those of test. Dates count as numbers (days), text with few values as categories. Paths
of files say nothing by themselves, and free text is only compared as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.metrics import Array

__all__ = ["Columns", "rank_columns", "read_columns", "standardise"]

Codes = NDArray[np.int64]
FITTED = re.compile(r"\b(?:topic|spelling|thumbnail|labels)/|\bpair/cosine")
"""Families of the search's features that look at the training rows: directions, word weights, labels of neighbours."""
DATE = r"\d{4}-\d\d-\d\d([T ][\d:.]+)?"
PATH = r"[^\s/]+(/[^\s/]+)*\.[A-Za-z0-9]{2,5}"
FREE_TEXT_SHARE = 0.5
MIN_LEVEL_ROWS = 5
ROUNDING = 1e-13


@dataclass(frozen=True)
class Columns:
    """What train and test share; identifiers, groups and the target are left out.

    Attributes:
        n_train: rows of train; the rest of the ``n_rows`` are test.
        numeric: floats with NaN where empty, by column; ``features`` of the evidence are among them.
        codes: level numbers 0..K-1 by categorical column; an empty cell is a level of its own.
        texts: the same for columns of free text, whose levels are nearly all different.
        derived: names of ``numeric`` that are no table columns.
    """

    n_train: int
    n_rows: int
    numeric: dict[str, Array]
    codes: dict[str, Codes]
    texts: dict[str, Codes] = field(default_factory=dict)
    derived: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of columns that say something by themselves."""
        return len(self.numeric) + len(self.codes)

    def matrix(self) -> Array:
        """Standardised numeric columns, their emptiness, and one 0/1 column per level: shape (rows, p).

        Levels of fewer than 5 rows share one column.
        """
        blocks = [np.zeros((self.n_rows, 0))]
        for values in self.numeric.values():
            empty = np.isnan(values)
            filled = np.where(empty, np.nanmean(values) if not empty.all() else 0.0, values)
            blocks.append(standardise(filled[:, None]))
            if empty.any():
                blocks.append(empty[:, None].astype(np.float64))
        blocks += [_indicators(codes) for codes in self.codes.values()]
        return np.hstack(blocks)

    def without(self, names: tuple[str, ...]) -> Columns:
        """The same without the columns of these names."""
        numeric = {name: values for name, values in self.numeric.items() if name not in names}
        codes = {name: values for name, values in self.codes.items() if name not in names}
        return Columns(self.n_train, self.n_rows, numeric, codes, self.texts, self.derived)

    def only(self, name: str) -> Columns:
        """One column of those that say something by themselves."""
        numeric = {name: self.numeric[name]} if name in self.numeric else {}
        return Columns(self.n_train, self.n_rows, numeric, {} if numeric else {name: self.codes[name]})

    def ranked(self) -> Columns:
        """The same with every numeric column replaced by its ranks, so that no outlier decides."""
        ranks = {name: _ranks(values) for name, values in self.numeric.items()}
        return Columns(self.n_train, self.n_rows, ranks, self.codes, self.texts, self.derived)


def read_columns(evidence: Evidence) -> Columns:
    """The shared columns of ``evidence.train`` and ``evidence.test``, and ``evidence.features``."""
    form = evidence.submission
    skipped = {evidence.target, form.id_column, form.group_column}
    numeric: dict[str, Array] = {}
    codes: dict[str, Codes] = {}
    texts: dict[str, Codes] = {}
    for name in (name for name in evidence.train if name in evidence.test and name not in skipped):
        both = pd.concat([evidence.train[name], evidence.test[name]], ignore_index=True)
        values = _numbers(both)
        if values is not None:
            numeric[str(name)] = values
            continue
        levels = pd.factorize(both, sort=True, use_na_sentinel=False)[0].astype(np.int64)
        if _is_path(both):
            continue
        free = _is_text(both) and levels.max(initial=0) + 1 > FREE_TEXT_SHARE * len(both)
        (texts if free else codes)[str(name)] = levels
    derived = _features(evidence, taken=set(evidence.train.columns))
    n_train = len(evidence.train)
    return Columns(n_train, n_train + len(evidence.test), numeric | derived, codes, texts, tuple(derived))


def _features(evidence: Evidence, taken: set[str]) -> dict[str, Array]:
    """Numeric features of the items, but those fitted on the training rows, which differ between the splits by that."""
    if evidence.features is None:
        return {}
    both = pd.concat(evidence.features, ignore_index=True)
    return {
        f"feature {name}" if name in taken else str(name): both[name].to_numpy(np.float64, na_value=np.nan)
        for name in both
        if not FITTED.search(str(name))
    }


def _is_path(column: pd.Series) -> bool:
    return _is_text(column) and bool(column.dropna().astype(str).str.fullmatch(PATH).all())


def _is_text(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column) or isinstance(column.dtype, pd.StringDtype)


def _numbers(column: pd.Series) -> Array | None:
    if pd.api.types.is_bool_dtype(column):
        return None
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(np.float64, na_value=np.nan)
    if not column.dropna().astype(str).str.fullmatch(DATE).all():
        return None
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601")
    days = (dates - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)


def _indicators(codes: Codes) -> Array:
    counts = np.bincount(codes)
    pooled = np.where(counts[codes] >= MIN_LEVEL_ROWS, codes, -1)
    return np.asarray(pooled[:, None] == np.unique(pooled), dtype=np.float64)


def rank_columns(table: Array) -> Array:
    """Ranks within each column, ties averaged, empty cells left empty; shape as given."""
    return np.asarray(pd.DataFrame(table).rank(), dtype=np.float64)


def _ranks(values: Array) -> Array:
    return rank_columns(values[:, None])[:, 0]


def standardise(matrix: Array) -> Array:
    """Columns with mean 0 and population standard deviation 1; constant columns become 0."""
    centred = matrix - matrix.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > ROUNDING * np.abs(matrix).max(axis=0, initial=0.0)
    return np.asarray(np.where(varies, centred / np.where(varies, spread, 1.0), 0.0), dtype=np.float64)
