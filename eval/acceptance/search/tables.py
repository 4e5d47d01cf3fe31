"""A table on the scale of its training rows: numbers, logarithms, emptiness, levels, dates, and derived features.

Ordinary columns are in every model. Derived features (what the front-ends make of images, sounds, texts, series and
graphs) are ideas: they enter one by one or a whole group at once. A derived feature is called ``source group/name``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["CALENDAR", "Table", "free_text", "read_table", "split_columns"]

CALENDAR = (" month", " weekday")
MAX_SKEW = 0.8
MAX_LEVELS = 12
MAX_CLIP = 6.0


@dataclass(frozen=True)
class Table:
    """Standardised numbers, logarithms of positive ones, emptiness, level codes (-1: not seen in training)."""

    rows: int
    z: dict[str, Array]
    logs: dict[str, Array]
    empty: dict[str, Array]
    codes: dict[str, Array]
    n_levels: dict[str, int]
    derived: tuple[str, ...]

    def levels(self, name: str) -> Array:
        """One 0/1 column per level."""
        return np.asarray(self.codes[name][:, None] == np.arange(self.n_levels[name]), dtype=np.float64)

    def base(self) -> Array:
        """What every model gets: ordinary numbers, emptiness, levels (but the calendar as numbers only)."""
        derived = set(self.derived)
        singles = [values[:, None] for name, values in self.z.items() if name not in derived]
        singles += [values[:, None] for values in self.empty.values()]
        small = [name for name in self.codes if not name.endswith(CALENDAR)]
        return np.hstack([np.zeros((self.rows, 0)), *singles, *(self.levels(name) for name in small)])

    def features(self, names: tuple[str, ...]) -> Array:
        """Some numbers as a matrix."""
        return np.column_stack([self.z[name] for name in names]) if names else np.zeros((self.rows, 0))

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Derived features by source and group."""
        found: dict[str, list[str]] = {}
        for name in self.derived:
            found.setdefault(name.partition("/")[0], []).append(name)
        return {group: tuple(names) for group, names in found.items()}

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        z, logs, empty, codes = (
            {name: values[rows] for name, values in part.items()}
            for part in (self.z, self.logs, self.empty, self.codes)
        )
        return Table(int(rows.sum()), z, logs, empty, codes, self.n_levels, self.derived)


def read_table(frame: pd.DataFrame, seen: NDArray[np.bool_], features: pd.DataFrame | None = None) -> Table:
    """All columns on the scale of the training rows (``seen``).

    A positive number with a long right tail is read on the log scale; a date gives a day number and calendar levels.
    """
    numbers, texts = split_columns(frame)
    table = Table(len(frame), {}, {}, {}, {}, {}, ())
    for name, values in numbers.items():
        known = add_number(table, name, values, seen)
        if known and np.isnan(values[seen]).any():
            table.empty[name] = np.isnan(values).astype(np.float64)
    for name, column in texts.items():
        names = {level: float(code) for code, level in enumerate(sorted(set(column[seen])))}
        table.codes[name] = np.asarray([names.get(text, -1.0) for text in column], dtype=np.float64)
        table.n_levels[name] = len(names)
    derived = []
    for label, feature in features.items() if features is not None else ():
        name = str(label)
        if add_number(table, name, feature.to_numpy(np.float64), seen):
            table.z[name] = np.clip(table.z[name], -MAX_CLIP, MAX_CLIP)
            derived.append(name)
    return Table(table.rows, table.z, table.logs, table.empty, table.codes, table.n_levels, tuple(derived))


def add_number(table: Table, name: str, values: Array, seen: NDArray[np.bool_]) -> bool:
    """Put a number into the table, its gaps filled by the median; False where it tells nothing."""
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[seen & ~np.isnan(values)]
    if len(known) == 0 or known.std() <= 1e-9 * max(1.0, float(np.abs(known).max())):
        return False
    filled = np.where(np.isnan(values), np.median(known), values)
    reading = np.log if known.min() > 0 and filled.min() > 0 and skewness(known) > MAX_SKEW else np.asarray
    table.z[name] = (reading(filled) - reading(known).mean()) / max(float(reading(known).std()), 1e-12)
    if filled.min() > 0 and known.max() > 1.5 * known.min():
        table.logs[name] = np.log(filled)
    return True


def skewness(values: Array) -> float:
    """Mean cube of the standardised values."""
    return float(np.mean(((values - values.mean()) / values.std()) ** 3))


def split_columns(frame: pd.DataFrame) -> tuple[dict[str, Array], dict[str, NDArray[np.object_]]]:
    """Numeric columns as floats, all others as text."""
    numbers: dict[str, Array] = {}
    texts: dict[str, NDArray[np.object_]] = {}
    for name, column in frame.items():
        key = str(name)
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            numbers[key] = column.to_numpy(np.float64, na_value=np.nan)
            continue
        known = column.dropna().astype(str)
        if len(known) and known.str.fullmatch(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?").all():
            date = pd.to_datetime(column, errors="coerce", format="ISO8601")
            numbers[key] = np.asarray((date - pd.Timestamp(2000, 1, 1)) / pd.Timedelta(days=1), dtype=np.float64)
            for part, values in zip(CALENDAR, (date.dt.month, date.dt.day_of_week), strict=True):
                numbers[key + part] = np.asarray(values, dtype=np.float64)
                texts[key + part] = np.array([f"{value:02.0f}" for value in values], dtype=object)
        else:
            texts[key] = column.astype(object).where(column.notna(), "missing").astype(str).to_numpy(dtype=object)
    return numbers, texts


def free_text(column: pd.Series) -> bool:
    """Whether a column is text to read: not a number, not a date, and with many different values."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    known = column.dropna().astype(str)
    if known.nunique() <= max(MAX_LEVELS, 0.3 * len(known)):
        return False
    return not known.str.fullmatch(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?").all()
