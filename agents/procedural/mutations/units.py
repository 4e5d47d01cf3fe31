"""Unit traps: part of a column was recorded in another unit."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, pick_numeric, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema

__all__ = ["Units"]

OTHERS = {
    "°C": ("°F", 1.8, 32.0),
    "kg": ("lb", 2.2046, 0.0),
    "g": ("mg", 1000.0, 0.0),
    "km": ("miles", 0.62137, 0.0),
    "km/h": ("mph", 0.62137, 0.0),
    "m": ("cm", 100.0, 0.0),
    "cm": ("mm", 10.0, 0.0),
    "mm": ("inches", 0.03937, 0.0),
    "h": ("min", 60.0, 0.0),
    "min": ("s", 60.0, 0.0),
    "minutes": ("seconds", 60.0, 0.0),
    "s": ("ms", 1000.0, 0.0),
    "days": ("hours", 24.0, 0.0),
    "years": ("months", 12.0, 0.0),
    "bar": ("kPa", 100.0, 0.0),
    "kW": ("W", 1000.0, 0.0),
    "m/s": ("km/h", 3.6, 0.0),
    "mg/L": ("µg/L", 1000.0, 0.0),
    "GB": ("MB", 1000.0, 0.0),
    "%": ("per mille", 10.0, 0.0),
}
"""Unit to another one: value there = factor * value + offset."""


@register
class Units(Mutation):
    """Records a share of a column in another unit; a column of units tells which, or the magnitude does.

    Attributes:
        told: whether a column ``<column>_unit`` is added. Without it ``limit`` parts the two units: all values of the
            own unit lie below and all of the other above it.
        share: of the rows that are in the other unit.
    """

    kind: Literal["units"] = "units"
    column: str
    unit: str
    other: str
    factor: float
    offset: float
    share: float
    told: bool
    limit: float = 0.0

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the column of units."""
        return f"{self.column}_unit"

    def on_table(self) -> tuple[str, ...]:
        there = f'{self.factor!r} * df["{self.column}"] + {self.offset!r}'
        lines = (
            f"foreign = rng.random(len(df)) < {self.share!r}",
            f'df["{self.column}"] = df["{self.column}"].mask(foreign, {there})',
        )
        if not self.told:
            return lines
        units = f'np.where(foreign, "{self.other}", "{self.unit}")'
        return (*lines, f'df.insert(df.columns.get_loc("{self.column}") + 1, "{self.name}", {units})')

    def undo(self) -> tuple[str, ...]:
        foreign = f'table["{self.name}"] == "{self.other}"' if self.told else f'table["{self.column}"] > {self.limit!r}'
        back = f'(table["{self.column}"] - {self.offset!r}) / {self.factor!r}'
        return (f'table["{self.column}"] = table["{self.column}"].mask({foreign}, {back})',)

    def publish(self, column: Column) -> tuple[Column, ...]:
        if not isinstance(column, NumericColumn) or column.name != self.column:
            return (column,)
        mixed = column.model_copy(update={"unit": f"{self.unit} or {self.other}"})
        if not self.told:
            return (mixed,)
        weights = (round(1 - self.share, 3), self.share)
        description = f"Unit in which {self.column} was recorded"
        levels = (self.unit, self.other)
        return (mixed, CategoricalColumn(name=self.name, description=description, levels=levels, weights=weights))

    def words(self) -> str:
        if self.told:
            return f"`{self.column}` was recorded partly in {self.unit}, partly in {self.other}; see `{self.name}`."
        return (
            f"`{self.column}` was recorded partly in {self.unit}, partly in {self.other}; the forms did not ask which,"
            " but the two are far enough apart to be told by the size of the number."
        )

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        chosen = pick_numeric(rng, [column for column in table.numeric() if column.unit in OTHERS])
        if chosen is None:
            return None
        other, factor, offset = OTHERS[chosen.unit]
        low, high = factor * chosen.low + offset, 1.05 * chosen.high
        apart = factor > 1.0 and chosen.low > 0 and low > high
        return cls(
            column=chosen.name,
            unit=chosen.unit,
            other=other,
            factor=factor,
            offset=offset,
            share=round(float(rng.uniform(0.15, 0.4)), 3),
            told=not apart or bool(rng.random() < 0.5),
            limit=float(f"{(low + high) / 2:.4g}") if apart else 0.0,
        )
