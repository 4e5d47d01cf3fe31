"""Easy terms in which the effect of one or two numeric columns is bent, cut or shared, but never turns back."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register, tidy
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["Average", "Saturation", "Threshold"]


@register
class Saturation(Term):
    """A line that levels off at both ends."""

    share = "easy"
    kind: Literal["saturation"] = "saturation"
    x: Scaled
    steepness: float

    def columns(self) -> tuple[str, ...]:
        return (self.x.column,)

    def source(self) -> str:
        return f"np.tanh({self.steepness!r} * {self.x.source()})"

    def readable(self) -> str:
        return f"tanh({self.steepness} * {self.x.readable()})"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 1)
        return cls(x=chosen[0].scaled(), steepness=tidy(rng.uniform(0.8, 2.0))) if chosen else None


@register
class Threshold(Term):
    """Whether a column exceeds a cut."""

    share = "easy"
    kind: Literal["threshold"] = "threshold"
    x: Scaled
    cut: float

    def columns(self) -> tuple[str, ...]:
        return (self.x.column,)

    def source(self) -> str:
        return f"({self.x.source()} > {self.cut!r}).astype(float)"

    def readable(self) -> str:
        return f"[{self.x.readable()} > {self.cut}]"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 1)
        return cls(x=chosen[0].scaled(), cut=tidy(rng.uniform(-0.5, 0.5))) if chosen else None


@register
class Average(Term):
    """The mean of two columns."""

    share = "easy"
    kind: Literal["average"] = "average"
    x: Scaled
    y: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.y.column)

    def source(self) -> str:
        return f"({self.x.source()} + {self.y.source()}) / 2"

    def readable(self) -> str:
        return f"mean({self.x.readable()}, {self.y.readable()})"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 2)
        return cls(x=chosen[0].scaled(), y=chosen[1].scaled()) if chosen else None
