"""Categorical explosion: few meanings, written as many levels."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import CategoricalColumn, Column, TableSchema

__all__ = ["LevelCodes"]

MIN_LEVELS = 20


@register
class LevelCodes(Mutation):
    """Appends one of ``codes`` to every level of a column, such as ``north/B4``; the code means nothing."""

    kind: Literal["level_codes"] = "level_codes"
    column: str
    codes: Annotated[tuple[str, ...], Field(min_length=2)]

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def on_table(self) -> tuple[str, ...]:
        return (
            f"codes = pick(rng, len(df), {list(self.codes)!r}, {[1.0] * len(self.codes)!r})",
            f'df["{self.column}"] = df["{self.column}"] + "/" + codes',
        )

    def undo(self) -> tuple[str, ...]:
        return (f'table["{self.column}"] = table["{self.column}"].str.rsplit("/", n=1).str[0]',)

    def publish(self, column: Column) -> tuple[Column, ...]:
        if not isinstance(column, CategoricalColumn) or column.name != self.column:
            return (column,)
        levels = tuple(f"{level}/{code}" for level in column.levels for code in self.codes)
        weights = tuple(weight / len(self.codes) for weight in column.weights for _ in self.codes)
        return (column.model_copy(update={"levels": levels, "weights": weights}),)

    def words(self) -> str:
        return f"The values of `{self.column}` end in a slash and the code of whoever entered the row."

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        few = [c for c in table.categorical() if len(c.levels) <= 8 and not any("/" in level for level in c.levels)]
        if not few:
            return None
        chosen = few[int(rng.integers(len(few)))]
        count = max(-(-MIN_LEVELS // len(chosen.levels)), 3)
        numbers = 10 + rng.choice(80, count, replace=False)
        letters = [chr(ord("A") + int(letter)) for letter in rng.integers(0, 6, count)]
        return cls(column=chosen.name, codes=tuple(f"{a}{b}" for a, b in zip(letters, numbers, strict=True)))
