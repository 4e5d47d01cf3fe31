"""Covariate shift: one or two columns lie elsewhere in the test set, and the labels follow the rule there too."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import TableSchema

__all__ = ["Shift"]


@register
class Shift(Mutation):
    """Draws test rows towards one end of a column: each value moves a part of the way to ``ends``, within its range.

    Attributes:
        ends: column to the value that test rows are drawn to; ``decimals`` are the column's own.
        part: how much of the way a value moves, in (0, 1).
    """

    kind: Literal["shift"] = "shift"
    ends: dict[str, float]
    decimals: dict[str, int]
    part: float

    def columns(self) -> tuple[str, ...]:
        return tuple(self.ends)

    def on_items(self) -> tuple[str, ...]:
        moved = [
            f'    columns["{name}"] = np.round((1 - {self.part!r}) * columns["{name}"] + {self.part!r} * {end!r},'
            f" {self.decimals[name]})"
            for name, end in self.ends.items()
        ]
        return ('if split == "test":', *moved)

    def shifted(self) -> tuple[str, ...]:
        return tuple(self.ends)

    def words(self) -> str:
        names = " and ".join(f"`{name}`" for name in self.ends)
        several = len(self.ends) > 1
        return (
            f"The rows of the test set were sampled in another way: there {names} {'have' if several else 'has'} a"
            " different distribution from that in the training set. What is asked for comes about in the same way in"
            " both."
        )

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        columns = [
            column
            for column in table.numeric()
            if not column.log and column.high - column.low >= 20 * 10.0**-column.decimals
        ]
        count = int(rng.integers(1, 3))
        if len(columns) < count:
            return None
        chosen = [columns[int(index)] for index in rng.permutation(len(columns))[:count]]
        ends = {column.name: column.high if rng.random() < 0.5 else column.low for column in chosen}
        return cls(
            ends=ends,
            decimals={column.name: column.decimals for column in chosen},
            part=round(float(rng.uniform(0.15, 0.3)), 2),
        )
