"""Hidden terms of two numeric columns that are read together: their sum, their distance from a point, a direction."""

from __future__ import annotations

from typing import Literal

from sandmle.agents.procedural.rules._term import Generator, register, tidy
from sandmle.agents.procedural.rules.pairs import Pair

__all__ = ["Distance", "Flip", "FoldedSum", "RidgeWave", "SaturatedProduct", "Sector", "SoftAgreement", "SumBand"]


@register
class FoldedSum(Pair):
    """How far the sum of two columns is from a usual value."""

    kind: Literal["folded_sum"] = "folded_sum"
    usual: float

    def source(self) -> str:
        return f"np.abs({self.x.source()} + {self.y.source()} - {self.usual!r})"

    def readable(self) -> str:
        return f"|{self.x.readable()} + {self.y.readable()} - {self.usual}|"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"usual": tidy(rng.uniform(-0.3, 0.3))}


@register
class SumBand(Pair):
    """Whether the sum of two columns lies within a band."""

    kind: Literal["sum_band"] = "sum_band"
    center: float
    half_width: float

    def source(self) -> str:
        total = f"{self.x.source()} + {self.y.source()}"
        return f"(np.abs({total} - {self.center!r}) < {self.half_width!r}).astype(float)"

    def readable(self) -> str:
        return f"[{self.x.readable()} + {self.y.readable()} within {self.half_width} of {self.center}]"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"center": tidy(rng.uniform(-0.3, 0.3)), "half_width": tidy(rng.uniform(0.7, 1.1))}


@register
class RidgeWave(Pair):
    """A sine of the sum of two columns."""

    kind: Literal["ridge_wave"] = "ridge_wave"
    period: float
    phase: float

    def source(self) -> str:
        total = f"({self.x.source()} + {self.y.source()})"
        return f"np.sin(2 * np.pi * {total} / {self.period!r} + {self.phase!r})"

    def readable(self) -> str:
        return f"sin(2 pi ({self.x.readable()} + {self.y.readable()}) / {self.period} + {self.phase})"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"period": tidy(rng.uniform(2.2, 4.0)), "phase": tidy(rng.uniform(0.0, 6.28))}


@register
class SaturatedProduct(Pair):
    """The product of two columns, each of which levels off, so that extreme rows count no more than others."""

    kind: Literal["saturated_product"] = "saturated_product"

    def source(self) -> str:
        return f"np.tanh({self.x.source()}) * np.tanh({self.y.source()})"

    def readable(self) -> str:
        return f"tanh({self.x.readable()}) * tanh({self.y.readable()})"


@register
class SoftAgreement(Pair):
    """The smaller of two columns, less the smaller of their opposites: large if both are high or both low."""

    kind: Literal["soft_agreement"] = "soft_agreement"

    def source(self) -> str:
        x, y = self.x.source(), self.y.source()
        return f"np.abs({x} + {y}) - np.abs({x} - {y})"

    def readable(self) -> str:
        x, y = self.x.readable(), self.y.readable()
        return f"|{x} + {y}| - |{x} - {y}|"


@register
class Distance(Pair):
    """The distance from a best point in the plane of two columns."""

    kind: Literal["distance"] = "distance"
    best_x: float
    best_y: float

    def source(self) -> str:
        return f"np.hypot({self.x.source()} - {self.best_x!r}, {self.y.source()} - {self.best_y!r})"

    def readable(self) -> str:
        return f"distance of ({self.x.readable()}, {self.y.readable()}) from ({self.best_x}, {self.best_y})"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"best_x": tidy(rng.uniform(-0.4, 0.4)), "best_y": tidy(rng.uniform(-0.4, 0.4))}


@register
class Sector(Pair):
    """The direction of a row in the plane of two columns, in two or three opposite sectors."""

    kind: Literal["sector"] = "sector"
    sectors: int
    turn: float

    def source(self) -> str:
        return f"np.sin({self.sectors} * np.arctan2({self.y.source()}, {self.x.source()}) + {self.turn!r})"

    def readable(self) -> str:
        return f"sin({self.sectors} * angle of ({self.x.readable()}, {self.y.readable()}) + {self.turn})"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"sectors": int(rng.integers(2, 4)), "turn": tidy(rng.uniform(-0.6, 0.6))}


@register
class Flip(Pair):
    """The effect of one column turns round where another exceeds a cut."""

    kind: Literal["flip"] = "flip"
    cut: float

    def source(self) -> str:
        return f"np.where({self.y.source()} > {self.cut!r}, 1.0, -1.0) * {self.x.source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} with a plus where {self.y.readable()} > {self.cut}, else with a minus"

    @classmethod
    def _parameters(cls, rng: Generator) -> dict[str, float]:
        return {"cut": tidy(rng.uniform(-0.4, 0.4))}
