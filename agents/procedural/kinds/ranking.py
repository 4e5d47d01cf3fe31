"""Ranking: a table whose rows stand in groups; only differences within a group tell which row is more relevant.

Every group has a level of its own in some columns, which moves all its rows alike. The rule reads those columns
relative to the mean of the group, so a row's raw values say little.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds.tabular import draw_table, public_columns, told
from sandmle.agents.procedural.lexicon import Domain
from sandmle.agents.procedural.mutations import Mutation, draw_mutations, published
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar, term_kinds
from sandmle.record import Record
from sandmle.task import StructuralDNA

__all__ = ["Groups", "Ranking"]

SMALLEST, LARGEST = 8, 12
MOVED_SHARE = 0.6
HIDDEN = tuple(name for kind in term_kinds("hidden") if (name := str(kind.model_fields["kind"].default)) != "ratio")
"""A ratio needs positive columns, which those relative to their group are not."""


class Groups(Record):
    """How groups differ.

    Attributes:
        moved: columns in which every group has a level of its own.
        level: standard deviation of that level in spreads of the column; ``rest`` is what is left within a group.
    """

    moved: tuple[str, ...]
    level: float
    rest: float


@register
class Ranking(TaskKind):
    """A table of groups of 8 to 12 rows."""

    name = "ranking"
    modality = "tabular"
    problems: ClassVar = {"ranking": 1.5}

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Columns in the seed's proportions, full cells alone; most numeric ones have a level by group."""
        table = draw_table(rng, domain, dna)
        full = tuple(column.model_copy(update={"missing": 0.0}) for column in table.columns)
        table = table.model_copy(update={"columns": full})
        names = [column.name for column in table.numeric()]
        count = max(round(MOVED_SHARE * len(names)), 2)
        moved = tuple(names[int(index)] for index in sorted(rng.permutation(len(names))[:count]))
        level = round(float(rng.uniform(0.6, 0.8)), 2)
        grammar = RuleGrammar(hidden=Part(share="hidden", count=(1, 3), kinds=HIDDEN, joint=1))
        return Factors(table=table, grammar=grammar, content=Groups(moved=moved, level=level, rest=0.75))

    def draw_mutations(self, rng: np.random.Generator, factors: Factors, problem: Problem) -> tuple[Mutation, ...]:
        """None to three, of columns that have no level by group."""
        assert isinstance(factors.content, Groups)
        return draw_mutations(rng, factors.table, problem, keep=factors.content.moved)

    def brief(self, blueprint: Blueprint) -> Brief:
        """The data dictionary, the column of groups first."""
        domain, columns = blueprint.lexicon(), published(blueprint.table, blueprint.mutations).columns
        group = domain.targets.ranking.group
        grouped = (
            f"Rows with the same `{group.column}` are ranked together: {SMALLEST} to {LARGEST} {domain.entities} each."
            " No group of the test set occurs in the training set."
        )
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(PublicColumn(group.column, "group", group.description), *public_columns(columns)),
            paragraphs=(grouped, *told(domain, columns, blueprint.mutations)),
        )
