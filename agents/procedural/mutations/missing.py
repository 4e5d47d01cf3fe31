"""Cells that are empty: at random, where another column is high, or where the value itself is."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, pick_numeric, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import Column, NumericColumn, TableSchema

__all__ = ["Missing"]

BOUND = 0.4
"""How far above its center (in spreads) a value counts as high."""


@register
class Missing(Mutation):
    """Empties a share of one numeric column.

    Attributes:
        column: the column that loses cells; ``cause`` decides which: another column (missing at random given that
            column), itself (not at random), or none (completely at random).
        cut: where ``cause`` counts as high.
        share: of the cells that may be lost, about a third of all where there is a cause.
    """

    kind: Literal["missing"] = "missing"
    column: str
    cause: str = ""
    cut: float = 0.0
    share: Annotated[float, Field(gt=0, lt=1)]

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (self.column, self.cause) if name))

    def on_table(self) -> tuple[str, ...]:
        lost = f"rng.random(len(df)) < {self.share!r}"
        if self.cause:
            lost = f'({lost}) & (df["{self.cause}"] > {self.cut!r})'
        return (f"lost = {lost}", f'df["{self.column}"] = df["{self.column}"].mask(lost)')

    def undo(self) -> tuple[str, ...]:
        if self.cause != self.column:
            return ()
        return (f'table["{self.column}"] = table["{self.column}"].fillna(train["{self.column}"].quantile(0.9))',)

    def publish(self, column: Column) -> tuple[Column, ...]:
        lost = self.share if not self.cause else round(self.share / 3, 3)
        return (column.model_copy(update={"missing": lost}) if column.name == self.column else column,)

    def words(self) -> str:
        if not self.cause:
            return ""
        if self.cause == self.column:
            return f"High values of `{self.column}` are recorded less often than low ones; an empty cell often hid one."
        return f"`{self.column}` was recorded less often where `{self.cause}` was high."

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        full = [column for column in table.numeric() if not column.missing]
        chosen, cause = pick_numeric(rng, full), pick_numeric(rng, full)
        if chosen is None or cause is None:
            return None
        mechanism = int(rng.integers(3))
        if mechanism == 0:
            return cls(column=chosen.name, share=round(float(rng.uniform(0.06, 0.15)), 3))
        cause = cause if mechanism == 1 else chosen
        share = round(float(rng.uniform(0.25, 0.5) if mechanism == 1 else rng.uniform(0.2, 0.4)), 3)
        return cls(column=chosen.name, cause=cause.name, cut=_cut(cause), share=share)


def _cut(column: NumericColumn) -> float:
    """The value that lies ``BOUND`` spreads above the center."""
    scaled = column.scaled()
    value = scaled.center + BOUND * scaled.scale
    return float(f"{math.exp(value) if scaled.log else value:.4g}")
