"""A hidden rule: weighted terms, a link to the target and a level of noise.

    signal  = sqrt(e) * easy + sqrt(1 - e) * hidden        each part standardised on a population of 20,000 rows
    binary      P(y = 1)  = sigmoid(signal / noise + c)         c fixes the share of the positive class
    multilabel  the same for every label, each with a signal of its own
    mask        the same for every pixel
    multiclass  P(y = k)  = softmax((cos t_k * signal_1 + sin t_k * signal_2) / noise),  t_k = 2 pi k / K
    ordinal     y = how many cuts ``signal + noise * N(0, 1)`` exceeds; the cuts fix the shares of the classes
    relevance   the same with the relevances 0 to 3
    gaussian    y = center + spread * (signal + noise * N(0, 1))
    lognormal   y = center * exp(spread * (signal + noise * N(0, 1)))

So the best prediction from complete features, and with it the Bayes score, is known exactly; where cells are emptied
afterwards nobody can quite reach it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.problems import Link
from sandmle.agents.procedural.rules._term import Generator, Term, term_kinds, tidy
from sandmle.agents.procedural.rules.calendar import LevelPair, MonthHalf, OrdinalMatch, OrdinalSlope, SeasonalSlope
from sandmle.agents.procedural.rules.curves import Average, Saturation, Threshold
from sandmle.agents.procedural.rules.formula import Formula
from sandmle.agents.procedural.rules.levels import HiddenGroup, LevelOptimum, LevelSlope, Season, Weekday
from sandmle.agents.procedural.rules.main_effects import Hinge, LevelEffect, Linear, OrdinalTrend
from sandmle.agents.procedural.rules.pairs import Difference, Extreme, Gate, Interaction, Ratio, SignAgreement
from sandmle.agents.procedural.rules.plane import (
    Distance,
    Flip,
    FoldedSum,
    RidgeWave,
    SaturatedProduct,
    Sector,
    SoftAgreement,
    SumBand,
)
from sandmle.agents.procedural.rules.several import ConditionCount, OddOneOut, SoftGate, Spread
from sandmle.agents.procedural.rules.shapes import Band, CommonCause, Optimum, Wave
from sandmle.agents.procedural.schema import TableSchema
from sandmle.record import Record

__all__ = ["AnyTerm", "HiddenRule", "Part", "RuleGrammar", "Signal", "WeightedTerm", "draw_signal"]

AnyTerm = Annotated[
    Average
    | Band
    | CommonCause
    | ConditionCount
    | Difference
    | Distance
    | Extreme
    | Flip
    | FoldedSum
    | Formula
    | Gate
    | HiddenGroup
    | Hinge
    | Interaction
    | LevelEffect
    | LevelOptimum
    | LevelPair
    | LevelSlope
    | Linear
    | MonthHalf
    | OddOneOut
    | Optimum
    | OrdinalMatch
    | OrdinalSlope
    | OrdinalTrend
    | Ratio
    | RidgeWave
    | SaturatedProduct
    | Saturation
    | Season
    | SeasonalSlope
    | Sector
    | SignAgreement
    | SoftAgreement
    | SoftGate
    | Spread
    | SumBand
    | Threshold
    | Wave
    | Weekday,
    Field(discriminator="kind"),
]
EASY_RANGE = (0.15, 0.85)
MAX_TRIES = 200


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
    """What links factors to the target.

    Attributes:
        signals: one; two for ``multiclass``, one a label for ``multilabel``.
        noise: standard deviation of the noise over that of the signal; for classes and masks the strength of the
            signal is ``1 / noise``.
        shares: of the positive class (binary, mask), of each label (multilabel), of each class (ordinal, relevance);
            empty for the other links.
        center: see the formulas above; numbers only.
        spread: see the formulas above; numbers only.
    """

    link: Link
    signals: tuple[Signal, ...] = Field(min_length=1)
    noise: Annotated[float, Field(gt=0)]
    shares: tuple[float, ...] = ()
    center: float = 0.0
    spread: float = 1.0

    def terms(self) -> tuple[Term, ...]:
        """The distinct terms of all signals, in order."""
        return tuple({term.source(): term for signal in self.signals for term in signal.terms()}.values())

    def primitives(self) -> tuple[str, ...]:
        """The kinds of its terms, sorted."""
        return tuple(sorted({term.kind for term in self.terms()}))

    def structure(self) -> tuple[str, ...]:
        """Kind and columns of every term, and the link: the rule without its numbers."""
        return (self.link, *(" ".join((term.kind, *sorted(term.columns()))) for term in self.terms()))

    def difficulty(self) -> float:
        """An estimate of how much of the target nobody finds at first sight, in [0, 1].

        ``1 - (e + (1 - e) (1 - c)) / (1 + n^2)``: e is the easy share, c the mean complexity of the hidden terms, and
        ``1 / (1 + n^2)`` the share of the latent's variance that is no noise. Means are over signals.
        """
        easy = sum(signal.easy_share for signal in self.signals) / len(self.signals)
        hidden = [weighted.term.complexity() for signal in self.signals for weighted in signal.hidden]
        found = easy + (1.0 - easy) * (1.0 - sum(hidden) / len(hidden))
        return round(1.0 - found / (1.0 + self.noise**2), 4)

    def readable(self) -> tuple[str, ...]:
        """One line a signal for people."""
        return tuple(signal.readable() for signal in self.signals)

    def louder(self, factor: float) -> Self:
        """The same rule with its noise times ``factor``."""
        return self.model_copy(update={"noise": round(self.noise * factor, 4)})

    def easier(self, step: float) -> Self:
        """The same rule with the easy share of every signal raised by ``step`` (lowered if negative)."""
        low, high = EASY_RANGE
        signals = tuple(
            signal.model_copy(update={"easy_share": round(min(max(signal.easy_share + step, low), high), 2)})
            for signal in self.signals
        )
        return self.model_copy(update={"signals": signals})


class Part(Record):
    """What one part of a signal is drawn from.

    Attributes:
        columns: the columns that its terms may read; all if empty.
        kinds: the kinds of terms; all that ``share`` names if empty.
        count: fewest and most terms.
        joint: how many of the terms must read two or more columns: trees find a bump of one column by themselves.
    """

    share: Literal["easy", "hidden"]
    count: tuple[int, int]
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    joint: Annotated[int, Field(ge=0)] = 0


class RuleGrammar(Record):
    """The two parts of every signal, and the range of the easy share."""

    easy: Part = Part(share="easy", count=(2, 3))
    hidden: Part = Part(share="hidden", count=(1, 3))
    easy_share: tuple[float, float] = (0.3, 0.7)


def draw_signal(rng: Generator, schema: TableSchema, grammar: RuleGrammar, easy_share: float) -> Signal:
    """Draw a signal, no two terms of a part with the same kind and columns.

    Raises:
        ValueError: the schema lacks the columns that the grammar's terms need.
    """
    easy, hidden = (_draw_part(rng, schema, part) for part in (grammar.easy, grammar.hidden))
    return Signal(easy=easy, hidden=hidden, easy_share=easy_share)


def _draw_part(rng: Generator, schema: TableSchema, part: Part) -> tuple[WeightedTerm, ...]:
    kinds = tuple(
        kind
        for kind in (term_kinds(part.share) if not part.kinds else term_kinds())
        if not part.kinds or kind.model_fields["kind"].default in part.kinds
    )
    readable = schema.only(part.columns) if part.columns else schema
    count = int(rng.integers(part.count[0], part.count[1] + 1))
    found: dict[tuple[str, ...], WeightedTerm] = {}
    for _ in range(MAX_TRIES):
        term = kinds[int(rng.integers(len(kinds)))].draw(rng, readable)
        missing_joint = part.joint - sum(len(weighted.term.columns()) > 1 for weighted in found.values())
        if term is not None and (missing_joint <= 0 or len(term.columns()) > 1):
            sign = 1.0 if rng.random() < 0.5 else -1.0
            key = term.columns() if part.share == "easy" else (term.kind, *term.columns())
            found.setdefault(key, WeightedTerm(term=term, weight=sign * tidy(rng.uniform(0.6, 1.0))))
        if len(found) == count:
            break
    if len(found) < part.count[0]:
        raise ValueError(f"the columns {[column.name for column in readable.columns]} allow too few {part.share} terms")
    return tuple(found.values())
