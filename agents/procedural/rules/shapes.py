"""Hidden terms of one numeric column, or of the common cause of several: bumps and waves."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register, tidy
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["Band", "CommonCause", "Optimum", "Wave"]


class _Single(Term):
    """One numeric column."""

    share = "hidden"
    x: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.x.column,)

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 1)
        return cls(x=chosen[0].scaled(), **cls._parameters(rng)) if chosen else None

    @classmethod
    @abstractmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]: ...


@register
class Band(_Single):
    """Whether the column lies within a band."""

    kind: Literal["band"] = "band"
    center: float
    half_width: float

    def source(self) -> str:
        return f"(np.abs({self.x.source()} - {self.center!r}) < {self.half_width!r}).astype(float)"

    def readable(self) -> str:
        return f"[{self.x.readable()} within {self.half_width} of {self.center}]"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"center": tidy(rng.uniform(-0.4, 0.4)), "half_width": tidy(rng.uniform(0.5, 0.8))}


@register
class Optimum(_Single):
    """The squared distance from a best value."""

    kind: Literal["optimum"] = "optimum"
    best: float

    def source(self) -> str:
        return f"({self.x.source()} - {self.best!r}) ** 2"

    def readable(self) -> str:
        return f"({self.x.readable()} - {self.best})^2"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"best": tidy(rng.uniform(-0.3, 0.3))}


@register
class Wave(_Single):
    """A sine of the column."""

    kind: Literal["wave"] = "wave"
    period: float
    phase: float

    def source(self) -> str:
        return f"np.sin(2 * np.pi * {self.x.source()} / {self.period!r} + {self.phase!r})"

    def readable(self) -> str:
        return f"sin(2 pi {self.x.readable()} / {self.period} + {self.phase})"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"period": tidy(rng.uniform(1.2, 2.4)), "phase": tidy(rng.uniform(0.0, 6.28))}


@register
class CommonCause(Term):
    """The squared mean of columns that share a latent cause: both very low and very high count."""

    share = "hidden"
    kind: Literal["common_cause"] = "common_cause"
    members: tuple[Scaled, ...]

    def columns(self) -> tuple[str, ...]:
        return tuple(member.column for member in self.members)

    def source(self) -> str:
        return f"(({' + '.join(member.source() for member in self.members)}) / {len(self.members)}) ** 2"

    def readable(self) -> str:
        return f"mean({', '.join(member.readable() for member in self.members)})^2"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, tuple(group for group in schema.groups() if len(group) >= 2), 1)
        return cls(members=tuple(column.scaled() for column in chosen[0])) if chosen else None
