"""Hidden terms of three or more numeric columns: conditions that are counted, spreads, soft switches."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register, tidy
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["ConditionCount", "OddOneOut", "SoftGate", "Spread"]


@register
class ConditionCount(Term):
    """Whether the number of conditions met, of three, is one of two that are not neighbours."""

    share = "hidden"
    kind: Literal["condition_count"] = "condition_count"
    members: tuple[Scaled, ...]
    cuts: tuple[float, ...]
    wanted: tuple[int, ...]

    def columns(self) -> tuple[str, ...]:
        return tuple(member.column for member in self.members)

    def source(self) -> str:
        met = (
            f"({member.source()} > {cut!r}).astype(int)" for member, cut in zip(self.members, self.cuts, strict=True)
        )
        return f"np.isin({' + '.join(met)}, {list(self.wanted)!r}).astype(float)"

    def readable(self) -> str:
        conditions = ", ".join(f"{m.readable()} > {cut}" for m, cut in zip(self.members, self.cuts, strict=True))
        return f"[{' or '.join(map(str, self.wanted))} of ({conditions}) hold]"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 3)
        if not chosen:
            return None
        cuts = tuple(tidy(rng.uniform(-0.3, 0.3)) for _ in chosen)
        wanted = ((0, 3), (1, 3), (0, 2))[int(rng.integers(3))]
        return cls(members=tuple(column.scaled() for column in chosen), cuts=cuts, wanted=wanted)


@register
class Spread(Term):
    """How far the largest of three columns is above the smallest."""

    share = "hidden"
    kind: Literal["spread"] = "spread"
    members: tuple[Scaled, ...]

    def columns(self) -> tuple[str, ...]:
        return tuple(member.column for member in self.members)

    def source(self) -> str:
        return f"np.ptp([{', '.join(member.source() for member in self.members)}], axis=0)"

    def readable(self) -> str:
        names = ", ".join(member.readable() for member in self.members)
        return f"max({names}) - min({names})"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 3)
        return cls(members=tuple(column.scaled() for column in chosen)) if chosen else None


@register
class SoftGate(Term):
    """A smooth switch from one column to the opposite of another."""

    share = "hidden"
    kind: Literal["soft_gate"] = "soft_gate"
    switch: Scaled
    steepness: float
    above: Scaled
    below: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.switch.column, self.above.column, self.below.column)

    def source(self) -> str:
        weight = f"np.tanh({self.steepness!r} * {self.switch.source()})"
        return f"(1 + {weight}) / 2 * {self.above.source()} - (1 - {weight}) / 2 * {self.below.source()}"

    def readable(self) -> str:
        above, below = self.above.readable(), self.below.readable()
        return f"w * {above} - (1 - w) * {below}, w rising with {self.switch.readable()} at steepness {self.steepness}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 3)
        if not chosen:
            return None
        switch, above, below = (column.scaled() for column in chosen)
        return cls(switch=switch, steepness=tidy(rng.uniform(1.5, 3.0)), above=above, below=below)


@register
class OddOneOut(Term):
    """How far a column departs from the others that share its cause."""

    share = "hidden"
    kind: Literal["odd_one_out"] = "odd_one_out"
    x: Scaled
    others: tuple[Scaled, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, *(other.column for other in self.others))

    def source(self) -> str:
        mean = f"({' + '.join(other.source() for other in self.others)}) / {len(self.others)}"
        return f"np.abs({self.x.source()} - {mean})"

    def readable(self) -> str:
        return f"|{self.x.readable()} - mean({', '.join(other.readable() for other in self.others)})|"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, tuple(group for group in schema.groups() if len(group) >= 2), 1)
        if not chosen:
            return None
        x, *others = (chosen[0][int(index)].scaled() for index in rng.permutation(len(chosen[0])))
        return cls(x=x, others=tuple(others))
