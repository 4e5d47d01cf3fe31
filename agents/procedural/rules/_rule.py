"""A hidden rule: weighted terms, a link to the target and a level of noise.

    signal  = sqrt(e) * easy + sqrt(1 - e) * hidden        each part standardised on a population of 20,000 rows
    binary      P(y = 1)  = sigmoid(strength * signal + c)      c fixes the share of the positive class
    multiclass  P(y = k)  = softmax(strength * (cos t_k * signal_1 + sin t_k * signal_2)),  t_k = 2 pi k / K
    gaussian    y = center + spread * (signal + noise * N(0, 1))
    lognormal   y = center * exp(spread * (signal + noise * N(0, 1)))

So the best prediction from complete features, and with it the Bayes score, is known exactly; where cells are emptied
afterwards nobody can quite reach it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sandmle.agents.procedural.rules._term import Generator, Term, term_kinds, tidy
from sandmle.agents.procedural.rules.levels import HiddenGroup, LevelOptimum, LevelSlope, Season, Weekday
from sandmle.agents.procedural.rules.main_effects import Hinge, LevelEffect, Linear, OrdinalTrend
from sandmle.agents.procedural.rules.pairs import Difference, Extreme, Gate, Interaction, Ratio, SignAgreement
from sandmle.agents.procedural.rules.shapes import Band, CommonCause, Optimum, Wave
from sandmle.agents.procedural.schema import TableSchema
from sandmle.record import Record

__all__ = ["AnyTerm", "HiddenRule", "Link", "Signal", "WeightedTerm", "draw_signal"]

AnyTerm = Annotated[
    Band
    | CommonCause
    | Difference
    | Extreme
    | Gate
    | HiddenGroup
    | Hinge
    | Interaction
    | LevelEffect
    | LevelOptimum
    | LevelSlope
    | Linear
    | Optimum
    | OrdinalTrend
    | Ratio
    | Season
    | SignAgreement
    | Wave
    | Weekday,
    Field(discriminator="kind"),
]
Link = Literal["binary", "multiclass", "gaussian", "lognormal"]


class WeightedTerm(Record):
    """A term and its weight within its part of the signal."""

    term: AnyTerm
    weight: float


class Signal(Record):
    """One latent signal; ``easy_share`` is e in the formula above, in (0, 1)."""

    easy: tuple[WeightedTerm, ...] = Field(min_length=1)
    hidden: tuple[WeightedTerm, ...] = Field(min_length=1)
    easy_share: Annotated[float, Field(gt=0, lt=1)]

    def terms(self) -> tuple[Term, ...]:
        """All its terms, easy ones first."""
        return tuple(weighted.term for weighted in (*self.easy, *self.hidden))

    def readable(self) -> str:
        """The signal in one line for people."""
        parts = [
            " + ".join(f"{weighted.weight:g} * {weighted.term.readable()}" for weighted in part)
            for part in (self.easy, self.hidden)
        ]
        return f"{self.easy_share:g} of the variance: {parts[0]}; the rest: {parts[1]}"


class HiddenRule(Record):
    """What links features to the target.

    Attributes:
        signals: one, or two for ``multiclass``.
        noise: standard deviation of the noise over that of the signal, for numbers; for classes the strength of the
            signal is ``1 / noise``.
        positive_share: share of the positive class; binary only.
        center: see the formulas above; numbers only.
        spread: see the formulas above; numbers only.
    """

    link: Link
    signals: tuple[Signal, ...] = Field(min_length=1, max_length=2)
    noise: Annotated[float, Field(gt=0)]
    positive_share: float = 0.5
    center: float = 0.0
    spread: float = 1.0

    def terms(self) -> tuple[Term, ...]:
        """The distinct terms of all signals, in order."""
        return tuple({term.source(): term for signal in self.signals for term in signal.terms()}.values())

    def readable(self) -> tuple[str, ...]:
        """One line a signal for people."""
        return tuple(signal.readable() for signal in self.signals)


def draw_signal(rng: Generator, schema: TableSchema, *, easy: int, hidden: int, easy_share: float) -> Signal:
    """Draw a signal with up to ``easy`` and ``hidden`` terms, no two of a part with the same kind and columns."""
    return Signal(
        easy=_draw_part(rng, schema, "easy", easy),
        hidden=_draw_part(rng, schema, "hidden", hidden),
        easy_share=easy_share,
    )


def _draw_part(
    rng: Generator, schema: TableSchema, share: Literal["easy", "hidden"], count: int
) -> tuple[WeightedTerm, ...]:
    kinds = term_kinds(share)
    found: dict[tuple[str, ...], WeightedTerm] = {}
    while len(found) < count:
        kind = kinds[int(rng.integers(len(kinds)))]
        term = kind.draw(rng, schema)
        if term is None:
            continue
        sign = 1.0 if rng.random() < 0.5 else -1.0
        key = term.columns() if share == "easy" else (term.kind, *term.columns())
        found.setdefault(key, WeightedTerm(term=term, weight=sign * tidy(rng.uniform(0.6, 1.0))))
    return tuple(found.values())
