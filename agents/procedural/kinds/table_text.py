"""A table with a column of text beside it; the rule reads both."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds._prose import draw_prose, draw_some, medium_of, text_factors
from sandmle.agents.procedural.kinds.tabular import draw_table, public_columns, told
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["TableText"]

EASY_KINDS = ("linear", "hinge", "level_effect", "ordinal_trend")
HIDDEN_KINDS = (
    "band",
    "difference",
    "extreme",
    "gate",
    "interaction",
    "level_optimum",
    "level_slope",
    "optimum",
    "sign_agreement",
)
FEW_LEVELS = 6
N_NUMERIC, N_OTHER = (3, 4), (1, 3)
"""Fewest and most columns of the table."""


@register
class TableText(TaskKind):
    """Four to seven columns and one text an item."""

    name = "table_text"
    modality = "multimodal"
    n_test = 1000
    problems: ClassVar = {"binary": 2, "multiclass": 1, "regression": 2}
    preload = ("sklearn.feature_extraction.text", "sklearn.decomposition")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's own targets, where it has texts."""
        return super().target(domain, problem) if domain.media.text else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Columns of the table, three plain and three or four hidden factors of the text."""
        prose, text_columns = draw_prose(rng, medium_of(domain), 3, 3)
        plain, hidden = text_factors(prose)
        table = _draw_columns(rng, domain, dna, {*plain, *hidden})
        schema = TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*table, *text_columns))
        numbers = tuple(column.name for column in table if isinstance(column, NumericColumn))
        levels = tuple(
            column.name
            for column in table
            if isinstance(column, CategoricalColumn) and len(column.levels) <= FEW_LEVELS
        )
        seen = tuple(column.name for column in table)
        told_plainly = tuple(name for name in prose.factors if name in plain)
        told_darkly = tuple(name for name in prose.factors if name in hidden)
        few = 2 if problem.link == "multiclass" else 3
        grammar = RuleGrammar(
            easy=Part(share="easy", count=(2, 3), columns=(*seen, *told_plainly), kinds=EASY_KINDS),
            hidden=Part(
                share="hidden", count=(1, few), columns=(*numbers, *levels, *told_darkly), kinds=HIDDEN_KINDS, joint=1
            ),
        )
        return Factors(table=schema, grammar=grammar, content=prose)

    def brief(self, blueprint: Blueprint) -> Brief:
        """The data dictionary of the table, and the text column."""
        domain = blueprint.lexicon()
        medium = medium_of(domain)
        factors = blueprint.content["factors"]
        columns = tuple(column for column in blueprint.table.columns if column.name not in factors)
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(*public_columns(columns), PublicColumn(medium.column, "text", medium.description)),
            paragraphs=(
                f"Beside the table's columns, `{medium.column}` holds {medium.subject}: a few English sentences.",
                *told(domain, columns, ()),
            ),
        )


def _draw_columns(rng: np.random.Generator, domain: Domain, dna: StructuralDNA, taken: set[str]) -> tuple[Column, ...]:
    """A few columns of the domain's table, in its order, none with the name of a factor of the text."""
    free = tuple(column for column in draw_table(rng, domain, dna).columns if column.name not in taken)
    numeric = tuple(column for column in free if isinstance(column, NumericColumn))
    others = tuple(column for column in free if column not in numeric)
    chosen = (
        *draw_some(rng, numeric, int(rng.integers(N_NUMERIC[0], N_NUMERIC[1] + 1))),
        *draw_some(rng, others, int(rng.integers(N_OTHER[0], N_OTHER[1] + 1))),
    )
    return tuple(column for column in free if column in chosen)
