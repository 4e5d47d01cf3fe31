"""The columns of a synthetic table: what each holds, how the generator draws it, and how a rule reads it.

Every column offers ``source()``, the numpy expression that draws it in ``generate.py``. ``Scaled`` is how a term of the
hidden rule reads a numeric column: about zero mean and unit spread, a function of the *observed* value alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from sandmle.record import Record

__all__ = [
    "CategoricalColumn",
    "Column",
    "DateColumn",
    "NumericColumn",
    "OrdinalColumn",
    "Scaled",
    "TableSchema",
]


class Scaled(Record):
    """A numeric column as a rule reads it: ``(x - center) / scale``, or the same of ``log(x)``."""

    column: str
    center: float
    scale: Annotated[float, Field(gt=0)]
    log: bool = False

    def source(self) -> str:
        """The numpy expression over ``df``."""
        read = f'df["{self.column}"].to_numpy(float)'
        value = f"np.log({read})" if self.log else read
        return f"(({value} - {self.center!r}) / {self.scale!r})"

    def readable(self) -> str:
        """The same for people: ``z(name)``, or ``z(log name)``."""
        return f"z(log {self.column})" if self.log else f"z({self.column})"


class NumericColumn(Record):
    """A measured quantity in [low, high].

    Attributes:
        shape: law of the values; ``lognormal`` needs ``low > 0``.
        decimals: decimals that are recorded; at most six significant digits, so that ``%.6g`` loses nothing.
        group: index of the latent cause it shares with others, or None; ``loading`` is its correlation with that cause.
        missing: share of empty cells, drawn at random.
    """

    kind: Literal["numeric"] = "numeric"
    name: str
    unit: str
    description: str
    low: float
    high: float
    shape: Literal["normal", "uniform", "lognormal"]
    decimals: Annotated[int, Field(ge=0, le=6)]
    group: int | None = None
    loading: float = 0.0
    missing: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def log(self) -> bool:
        """Whether the column is read on a log scale."""
        return self.shape == "lognormal"

    @property
    def _span(self) -> tuple[float, float]:
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    @property
    def smallest(self) -> float:
        """The least value that is recorded; above 0 on a log scale."""
        return self.low if not self.log else max(self.low, 10.0**-self.decimals)

    def scaled(self) -> Scaled:
        """The column with zero mean and unit spread."""
        low, high = self._span
        spread = (high - low) / (math.sqrt(12.0) if self.shape == "uniform" else 6.0)
        return Scaled(column=self.name, center=_short((low + high) / 2), scale=_short(spread), log=self.log)

    def source(self) -> str:
        """The expression that draws it, from ``rng``, ``n`` and the latent causes ``cause``."""
        noise = "rng.standard_normal(n)"
        if self.group is not None:
            rest = _short(math.sqrt(1.0 - self.loading**2))
            noise = f"{self.loading!r} * cause[:, {self.group}] + {rest!r} * rng.standard_normal(n)"
        low, high = self._span
        if self.shape == "uniform" and self.group is None:
            values = f"rng.uniform({self.low!r}, {self.high!r}, n)"
        else:
            spread = (high - low) / (math.sqrt(12.0) if self.shape == "uniform" else 6.0)
            values = f"{_short((low + high) / 2)!r} + {_short(spread)!r} * ({noise})"
            values = f"np.exp({values})" if self.log else values
        return f"np.round(np.clip({values}, {self.smallest!r}, {self.high!r}), {self.decimals})"


class CategoricalColumn(Record):
    """One of several unordered levels; ``weights`` are their shares and sum to 1."""

    kind: Literal["categorical"] = "categorical"
    name: str
    description: str
    levels: tuple[str, ...]
    weights: tuple[float, ...]
    missing: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def source(self) -> str:
        """The expression that draws it."""
        return f"pick(rng, n, {list(self.levels)!r}, {list(self.weights)!r})"


class OrdinalColumn(Record):
    """One of several levels in ascending order, equally likely."""

    kind: Literal["ordinal"] = "ordinal"
    name: str
    description: str
    levels: tuple[str, ...]
    missing: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def source(self) -> str:
        """The expression that draws it."""
        share = _short(1 / len(self.levels))
        return f"pick(rng, n, {list(self.levels)!r}, {[share] * len(self.levels)!r})"


class DateColumn(Record):
    """A day between two ISO dates."""

    kind: Literal["date"] = "date"
    name: str
    description: str
    start: str
    end: str
    missing: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def source(self) -> str:
        """The expression that draws it."""
        return f'days(rng, n, "{self.start}", "{self.end}")'


Column = Annotated[NumericColumn | CategoricalColumn | OrdinalColumn | DateColumn, Field(discriminator="kind")]


class TableSchema(Record):
    """All feature columns in the order of the files, and the id column."""

    id_column: str
    id_prefix: str
    columns: tuple[Column, ...]

    def only(self, names: Collection[str]) -> TableSchema:
        """The same with the columns called ``names`` alone."""
        return self.model_copy(update={"columns": tuple(column for column in self.columns if column.name in names)})

    def numeric(self) -> tuple[NumericColumn, ...]:
        """The numeric columns."""
        return tuple(column for column in self.columns if isinstance(column, NumericColumn))

    def categorical(self) -> tuple[CategoricalColumn, ...]:
        """The categorical columns."""
        return tuple(column for column in self.columns if isinstance(column, CategoricalColumn))

    def ordinal(self) -> tuple[OrdinalColumn, ...]:
        """The ordinal columns."""
        return tuple(column for column in self.columns if isinstance(column, OrdinalColumn))

    def dates(self) -> tuple[DateColumn, ...]:
        """The date columns."""
        return tuple(column for column in self.columns if isinstance(column, DateColumn))

    def groups(self) -> tuple[tuple[NumericColumn, ...], ...]:
        """The numeric columns of each shared latent cause, by its index."""
        indices = sorted({column.group for column in self.numeric() if column.group is not None})
        return tuple(tuple(c for c in self.numeric() if c.group == index) for index in indices)


def _short(value: float) -> float:
    """``value`` to six significant digits, as it is printed in scripts."""
    return float(f"{value:.6g}")
