"""Rewriting: short lines of codes, dates, numbers and units that a house style writes out in full."""

from __future__ import annotations

from typing import ClassVar, get_args

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds._prose import draw_some
from sandmle.agents.procedural.lexicon import Domain, RewriteMedium, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import NOISE, AnyRule, RewriteRule, RuleGrammar
from sandmle.agents.procedural.rules.rewrite import Condition, StyleChoice, TokenClass
from sandmle.agents.procedural.schema import TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["Lines", "Rewrite"]

STYLES: dict[TokenClass, tuple[str, ...]] = {
    "short": ("long", "long_and_short", "as_is", "capitals"),
    "measure": ("digits_long", "words_long", "digits_written", "unit_first"),
    "date": ("day_month_year", "month_day_year", "iso", "short_month"),
    "time": ("colon", "half_day", "with_h", "hours"),
    "code": ("dashed", "spaced", "numbered", "dotted"),
    "times": ("words", "digits", "fold"),
}
"""The styles of each class; templates/kinds/rewrite/_styles.py.j2 says how they look."""
CONDITIONS: dict[TokenClass, tuple[Condition, ...]] = {
    "short": ("bracket", "desk"),
    "measure": ("above", "desk", "bracket"),
    "date": ("desk", "bracket", "above"),
    "time": ("above", "desk"),
    "code": ("desk", "above", "bracket"),
    "times": ("desk", "above"),
}
VALUES: dict[TokenClass, tuple[int, int]] = {
    "measure": (2, 95),
    "date": (1, 28),
    "time": (5, 22),
    "code": (1000, 9999),
    "times": (2, 9),
}
"""Lowest and highest value of a class: number, day, hour, digits of a code, number of times."""
DESKS = ("N", "S", "E", "W", "C", "H")
LINKING = ("for", "at", "from", "with", "see", "then", "also", "near", "again", "today")


class Lines(Record):
    """What the lines of one task hold.

    Attributes:
        desks: letters of the code that begins each line.
        units: (written, spoken); ``shortenings`` likewise.
        marks: day, month and year are joined by the first, hour and minute by the second.
    """

    source: str
    desks: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    shortenings: tuple[tuple[str, str], ...]
    linking: tuple[str, ...]
    marks: tuple[str, str]
    values: dict[str, tuple[int, int]]
    styles: dict[str, tuple[str, ...]]


@register
class Rewrite(TaskKind):
    """One line an item; the target is the line in full."""

    name = "rewrite"
    modality = "text"
    n_test = 1000
    problems: ClassVar = {"seq2seq": 3}
    rungs = ("dummy", "dictionary", "patterns", "blend", "informed")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The line in full, where the domain has lines to rewrite."""
        medium = domain.media.rewrite
        if medium is None:
            return None
        return Target(
            column=medium.target,
            title=medium.title,
            question=medium.question,
            description=medium.target_description,
        )

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Words and marks of the lines; there are no columns that a rule could read."""
        medium = _medium_of(domain)
        classes = ("short", "measure", *draw_some(rng, ("date", "time", "code", "times"), int(rng.integers(2, 4))))
        spoken = (*(unit.spoken for unit in medium.units), *(entry.long for entry in medium.shortenings))
        used = {word for words in spoken for word in words.split()}
        lines = Lines(
            source=medium.source,
            desks=draw_some(rng, DESKS, 4),
            units=tuple((unit.written, unit.spoken) for unit in medium.units),
            shortenings=tuple((entry.short, entry.long) for entry in medium.shortenings),
            linking=draw_some(rng, tuple(word for word in LINKING if word not in used), 6),
            marks=((".", "/", "-")[int(rng.integers(3))], (":", "h")[int(rng.integers(2))]),
            values={name: span for name, span in VALUES.items() if name in classes},
            styles={name: STYLES[name] for name in get_args(TokenClass) if name in classes},
        )
        table = TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=())
        return Factors(table=table, grammar=RuleGrammar(), content=lines)

    def draw_rule(self, rng: np.random.Generator, factors: Factors, problem: Problem, dna: StructuralDNA) -> AnyRule:
        """A style for every class of token; two or three of them depend on the line."""
        if not isinstance(factors.content, Lines):
            raise TypeError("rules of rewriting need lines")
        classes: tuple[TokenClass, ...] = tuple(name for name in get_args(TokenClass) if name in factors.content.styles)
        turning = draw_some(rng, classes, int(rng.integers(2, 4)))
        choices = tuple(_choose(rng, name, factors.content.desks, turning=name in turning) for name in classes)
        easy = round(float(np.clip(0.2 + rng.uniform(0.0, 0.3) + 0.2 * (dna.linear_share - 0.5), 0.15, 0.6)), 2)
        return RewriteRule(choices=choices, noise=NOISE[problem.link][int(rng.integers(3))], easy_share=easy)

    def brief(self, blueprint: Blueprint) -> Brief:
        """The line and what it looks like."""
        domain = blueprint.lexicon()
        medium = _medium_of(domain)
        return Brief(
            item=("line", "lines"),
            columns=(PublicColumn(medium.source, "text", medium.description),),
            paragraphs=(
                f"The column `{medium.source}` holds {medium.subject}. A line begins with the code of the place it"
                f" comes from; the target `{medium.target}` is the same line in full, as the house style of"
                f" {domain.host.split(',')[0]} has it. Lines hold shortened words, numbers with units, and further"
                " codes; parts of a line may stand in brackets.",
            ),
        )


def _medium_of(domain: Domain) -> RewriteMedium:
    if domain.media.rewrite is None:
        raise ValueError(f"domain {domain.slug} has no lines to rewrite")
    return domain.media.rewrite


def _choose(rng: np.random.Generator, token: TokenClass, desks: tuple[str, ...], *, turning: bool) -> StyleChoice:
    usual, other = draw_some(rng, STYLES[token], 2)
    if token == "short" and usual == "as_is":
        usual, other = other, usual
    if not turning:
        return StyleChoice(token=token, usual=usual, other=other)
    conditions = CONDITIONS[token]
    condition = conditions[int(rng.integers(len(conditions)))]
    low, high = VALUES.get(token, (0, 0))
    cut = int(np.floor(low + (high - low) * rng.uniform(0.35, 0.65)))
    return StyleChoice(
        token=token,
        usual=usual,
        other=other,
        condition=condition,
        desks=draw_some(rng, desks, 2) if condition == "desk" else (),
        cut=cut if condition == "above" else 0,
    )
