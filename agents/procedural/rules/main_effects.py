"""Easy terms: effects of one column that every generic model finds."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register, tidy
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["Hinge", "LevelEffect", "Linear", "OrdinalTrend"]


@register
class Linear(Term):
    """A straight line in one numeric column."""

    share = "easy"
    kind: Literal["linear"] = "linear"
    x: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.x.column,)

    def source(self) -> str:
        return self.x.source()

    def readable(self) -> str:
        return self.x.readable()

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 1)
        return cls(x=chosen[0].scaled()) if chosen else None


@register
class Hinge(Term):
    """Flat up to a knot, then a straight line."""

    share = "easy"
    kind: Literal["hinge"] = "hinge"
    x: Scaled
    knot: float

    def columns(self) -> tuple[str, ...]:
        return (self.x.column,)

    def source(self) -> str:
        return f"np.maximum({self.x.source()} - {self.knot!r}, 0.0)"

    def readable(self) -> str:
        return f"max({self.x.readable()} - {self.knot}, 0)"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 1)
        return cls(x=chosen[0].scaled(), knot=tidy(rng.uniform(-0.8, 0.2))) if chosen else None


@register
class LevelEffect(Term):
    """A value for each level of a categorical column with few levels."""

    share = "easy"
    kind: Literal["level_effect"] = "level_effect"
    column: str
    values: dict[str, float]

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def source(self) -> str:
        return f'df["{self.column}"].map({self.values!r}).to_numpy(float)'

    def readable(self) -> str:
        return f"effect of {self.column} {self.values}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, tuple(c for c in schema.categorical() if len(c.levels) <= 6), 1)
        if not chosen:
            return None
        values = {level: tidy(rng.normal()) for level in chosen[0].levels}
        return cls(column=chosen[0].name, values=values)


@register
class OrdinalTrend(Term):
    """A straight line in the rank of an ordinal column."""

    share = "easy"
    kind: Literal["ordinal_trend"] = "ordinal_trend"
    column: str
    levels: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def source(self) -> str:
        ranks = {level: float(rank) for rank, level in enumerate(self.levels)}
        return f'df["{self.column}"].map({ranks!r}).to_numpy(float)'

    def readable(self) -> str:
        return f"rank of {self.column}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.ordinal(), 1)
        return cls(column=chosen[0].name, levels=chosen[0].levels) if chosen else None
