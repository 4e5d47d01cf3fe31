"""Hidden terms of two or three numeric columns."""

from __future__ import annotations

import math
from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register, tidy
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["Difference", "Extreme", "Gate", "Interaction", "Pair", "Ratio", "SignAgreement"]


class Pair(Term):
    """Two numeric columns."""

    share = "hidden"
    x: Scaled
    y: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.y.column)

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 2)
        return cls(x=chosen[0].scaled(), y=chosen[1].scaled(), **cls._parameters(rng)) if chosen else None

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {}


@register
class Interaction(Pair):
    """The product of two columns."""

    kind: Literal["interaction"] = "interaction"

    def source(self) -> str:
        return f"{self.x.source()} * {self.y.source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} * {self.y.readable()}"


@register
class Difference(Pair):
    """How far two columns are apart, whichever is larger."""

    kind: Literal["difference"] = "difference"

    def source(self) -> str:
        return f"np.abs({self.x.source()} - {self.y.source()})"

    def readable(self) -> str:
        return f"|{self.x.readable()} - {self.y.readable()}|"


@register
class Extreme(Pair):
    """The worse of two columns in absolute terms."""

    kind: Literal["extreme"] = "extreme"

    def source(self) -> str:
        return f"np.maximum(np.abs({self.x.source()}), np.abs({self.y.source()}))"

    def readable(self) -> str:
        return f"max(|{self.x.readable()}|, |{self.y.readable()}|)"


@register
class SignAgreement(Pair):
    """Whether two columns lie on the same side of their cut points (an exclusive or)."""

    kind: Literal["sign_agreement"] = "sign_agreement"
    cut_x: float
    cut_y: float

    def source(self) -> str:
        left = f"({self.x.source()} > {self.cut_x!r})"
        return f"np.where({left} == ({self.y.source()} > {self.cut_y!r}), 1.0, -1.0)"

    def readable(self) -> str:
        return f"[{self.x.readable()} > {self.cut_x}] agrees with [{self.y.readable()} > {self.cut_y}]"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"cut_x": tidy(rng.uniform(-0.4, 0.4)), "cut_y": tidy(rng.uniform(-0.4, 0.4))}


@register
class Ratio(Term):
    """Whether the ratio of two positive columns lies near its usual value: ``|log(x / y) - c|``."""

    share = "hidden"
    kind: Literal["ratio"] = "ratio"
    top: str
    bottom: str
    usual: float

    def columns(self) -> tuple[str, ...]:
        return (self.top, self.bottom)

    def source(self) -> str:
        top, bottom = (f'df["{name}"].to_numpy(float)' for name in (self.top, self.bottom))
        return f"np.abs(np.log({top} / {bottom}) - {self.usual!r})"

    def readable(self) -> str:
        return f"|log({self.top} / {self.bottom}) - {self.usual}|"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        wide = tuple(c for c in schema.numeric() if c.low > 0 and c.high / c.low >= 2 and c.low >= 10.0**-c.decimals)
        chosen = pick(rng, wide, 2)
        if not chosen:
            return None
        top, bottom = chosen
        usual = (math.log(top.low * top.high) - math.log(bottom.low * bottom.high)) / 2
        return cls(top=top.name, bottom=bottom.name, usual=tidy(usual + rng.uniform(-0.1, 0.1)))


@register
class Gate(Term):
    """One column decides which of two others counts."""

    share = "hidden"
    kind: Literal["gate"] = "gate"
    switch: Scaled
    cut: float
    above: Scaled
    below: Scaled

    def columns(self) -> tuple[str, ...]:
        return (self.switch.column, self.above.column, self.below.column)

    def source(self) -> str:
        return f"np.where({self.switch.source()} > {self.cut!r}, {self.above.source()}, -{self.below.source()})"

    def readable(self) -> str:
        return f"{self.above.readable()} if {self.switch.readable()} > {self.cut} else -{self.below.readable()}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.numeric(), 3)
        if not chosen:
            return None
        switch, above, below = (column.scaled() for column in chosen)
        return cls(switch=switch, cut=tidy(rng.uniform(-0.5, 0.5)), above=above, below=below)
