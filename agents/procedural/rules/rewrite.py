"""A rule of rewriting: how each class of token is written out, and what in the line changes the way.

    every token of a class is written in the class's usual style,
    but in its other style where the class's condition holds (if it has one),
    and with probability ``noise`` in a style drawn at random from all of the class.

Conditions: the line's desk code is one of some (``desk``), the token stands in brackets (``bracket``), or its value
exceeds a cut (``above``). The best rewriting leaves the noise out, so the Bayes score is that of the rule itself.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.rules._rule import EASY_RANGE
from sandmle.record import Record

__all__ = ["Condition", "RewriteRule", "StyleChoice", "TokenClass"]

TokenClass = Literal["short", "measure", "date", "time", "code", "times"]
Condition = Literal["always", "desk", "bracket", "above"]


class StyleChoice(Record):
    """How one class of token is written.

    Attributes:
        usual: name of the usual style; ``other`` the style where the condition holds.
        desks: the desk letters of a ``desk`` condition.
        cut: of an ``above`` condition, in the unit of the token's value.
    """

    token: TokenClass
    usual: str
    other: str
    condition: Condition = "always"
    desks: tuple[str, ...] = ()
    cut: int = 0

    @property
    def kind(self) -> str:
        """The kind of term, for counts of primitives."""
        return "rewrite" if self.condition == "always" else f"rewrite_{self.condition}"

    def readable(self) -> str:
        """The choice in one line for people."""
        match self.condition:
            case "always":
                return f"{self.token} as {self.usual}"
            case "desk":
                return f"{self.token} as {self.other} if desk in ({', '.join(self.desks)}) else {self.usual}"
            case "bracket":
                return f"{self.token} as {self.other} if [in brackets] else {self.usual}"
            case "above":
                return f"{self.token} as {self.other} if [value > {self.cut}] else {self.usual}"


class RewriteRule(Record):
    """The house style of a task of rewriting.

    Attributes:
        choices: one for every class of token.
        noise: share of tokens that are written in a style drawn at random.
        easy_share: conditions hold for ``rare`` of the tokens: the larger it is, the more the usual style explains.
    """

    link: Literal["rewrite"] = "rewrite"
    choices: Annotated[tuple[StyleChoice, ...], Field(min_length=2)]
    noise: Annotated[float, Field(gt=0, lt=1)]
    easy_share: Annotated[float, Field(gt=0, lt=1)]

    @property
    def rare(self) -> float:
        """How often a condition holds, in (0.1, 0.5)."""
        return round(0.55 - 0.5 * self.easy_share, 3)

    def terms(self) -> tuple[StyleChoice, ...]:
        """The choices in order."""
        return self.choices

    def primitives(self) -> tuple[str, ...]:
        """The kinds of its choices, sorted."""
        return tuple(sorted({choice.kind for choice in self.choices}))

    def structure(self) -> tuple[str, ...]:
        """Token, styles and condition of every choice, and the link: the rule without its numbers."""
        return (self.link, *(f"{c.kind} {c.token} {c.usual} {c.other}" for c in self.choices))

    def difficulty(self) -> float:
        """Mean share of tokens that their class's usual style does not explain, noise included, in [0, 1]."""
        turned = [self.rare if choice.condition != "always" else 0.0 for choice in self.choices]
        return round(1.0 - (1.0 - sum(turned) / len(turned)) * (1.0 - self.noise), 4)

    def readable(self) -> tuple[str, ...]:
        """One line a choice for people."""
        return tuple(choice.readable() for choice in self.choices)

    def louder(self, factor: float) -> Self:
        """The same rule with its noise times ``factor``."""
        return self.model_copy(update={"noise": round(min(self.noise * factor, 0.9), 4)})

    def easier(self, step: float) -> Self:
        """The same rule with rarer conditions (more frequent ones if ``step`` is negative)."""
        low, high = EASY_RANGE
        return self.model_copy(update={"easy_share": round(min(max(self.easy_share + step, low), high), 2)})
