"""Columns that tell nothing new: a second reading of another column, and one that hardly ever changes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, pick_numeric, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema

__all__ = ["Duplicate", "NearConstant"]


@register
class Duplicate(Mutation):
    """Adds a second reading of a column, off by a little or not at all.

    Attributes:
        column: the column; the copy is called ``<column>_repeat``.
        error: standard deviation of the difference; 0 for an exact copy.
    """

    kind: Literal["duplicate"] = "duplicate"
    column: str
    error: Annotated[float, Field(ge=0)]
    decimals: int

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the copy."""
        return f"{self.column}_repeat"

    def on_table(self) -> tuple[str, ...]:
        value = f'df["{self.column}"]'
        if self.error:
            value = f"np.round({value} + {self.error!r} * rng.standard_normal(len(df)), {self.decimals})"
        return (f'df.insert(df.columns.get_loc("{self.column}") + 1, "{self.name}", {value})',)

    def publish(self, column: Column) -> tuple[Column, ...]:
        if not isinstance(column, NumericColumn) or column.name != self.column:
            return (column,)
        description = f"Copy of {self.column} from a second system"
        return (column, column.model_copy(update={"name": self.name, "description": description}))

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        chosen = pick_numeric(rng, [column for column in table.numeric() if not column.log])
        if chosen is None:
            return None
        error = float(f"{chosen.scaled().scale * rng.uniform(0.02, 0.1):.3g}") if rng.random() < 0.6 else 0.0
        return cls(column=chosen.name, error=error, decimals=chosen.decimals)


@register
class NearConstant(Mutation):
    """Adds a column that says the same of nearly all rows, and of the others nothing that matters."""

    kind: Literal["near_constant"] = "near_constant"
    after: str
    name: str
    levels: tuple[str, str]
    description: str
    share: Annotated[float, Field(gt=0, lt=0.1)]

    def on_table(self) -> tuple[str, ...]:
        values = f"pick(rng, len(df), {list(self.levels)!r}, {[round(1 - self.share, 4), self.share]!r})"
        return (f'df.insert(df.columns.get_loc("{self.after}") + 1, "{self.name}", {values})',)

    def publish(self, column: Column) -> tuple[Column, ...]:
        if column.name != self.after:
            return (column,)
        weights = (round(1 - self.share, 4), self.share)
        new = CategoricalColumn(name=self.name, description=self.description, levels=self.levels, weights=weights)
        return (column, new)

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        if not table.columns:
            return None
        name, levels, description = FLAGS[int(rng.integers(len(FLAGS)))]
        after = table.columns[int(rng.integers(len(table.columns)))].name
        share = round(float(rng.uniform(0.01, 0.04)), 3)
        return cls(after=after, name=name, levels=levels, description=description, share=share)


FLAGS = (
    ("form_version", ("v2", "v1"), "Version of the form in which the row was entered"),
    ("record_status", ("final", "amended"), "Whether the record was changed after it was entered"),
    ("entry_channel", ("import", "by hand"), "How the row came into the system"),
    ("clock_source", ("network", "local"), "Clock that stamped the row"),
)
