"""Heavy tails: a few readings of a column lie far outside its range."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, pick_numeric, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import TableSchema

__all__ = ["Outliers"]


@register
class Outliers(Mutation):
    """Throws a share of a column's readings far out: 5 to 20 spreads beyond the center, on both sides.

    Attributes:
        scale: spread of the column.
        share: of the cells.
    """

    kind: Literal["outliers"] = "outliers"
    column: str
    scale: Annotated[float, Field(gt=0)]
    share: Annotated[float, Field(gt=0, lt=0.2)]
    decimals: int

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def on_table(self) -> tuple[str, ...]:
        return (
            f"thrown = {self.scale!r} * rng.uniform(5, 20, len(df)) * rng.choice([-1.0, 1.0], len(df))",
            f"thrown = np.where(rng.random(len(df)) < {self.share!r}, thrown, 0.0)",
            f'df["{self.column}"] = np.round(df["{self.column}"] + thrown, {self.decimals})',
        )

    def undo(self) -> tuple[str, ...]:
        return (
            f'low, middle, high = train["{self.column}"].quantile([0.25, 0.5, 0.75])',
            f'far = (table["{self.column}"] - middle).abs() > 2.5 * (high - low)',
            f'table["{self.column}"] = table["{self.column}"].mask(far)',
        )

    def words(self) -> str:
        return f"A few cells of `{self.column}` hold impossible values: errors of entry or of the instrument."

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        chosen = pick_numeric(rng, [column for column in table.numeric() if not column.log and not column.missing])
        if chosen is None:
            return None
        share = round(float(rng.uniform(0.02, 0.06)), 3)
        return cls(column=chosen.name, scale=chosen.scaled().scale, share=share, decimals=chosen.decimals)
