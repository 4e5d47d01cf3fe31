"""Texts: a few sentences an item, from the vocabulary of the domain; the rule reads what they say and how."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds._prose import draw_prose, grammar_of, medium_of, text_factors
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import TableSchema
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["Text"]


@register
class Text(TaskKind):
    """One text an item."""

    name = "text"
    modality = "text"
    n_test = 1000
    problems: ClassVar = {"binary": 3, "multiclass": 3, "multilabel": 2, "ordinal": 2, "regression": 2}
    preload = ("sklearn.feature_extraction.text", "sklearn.decomposition")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's own targets, where it has texts."""
        return super().target(domain, problem) if domain.media.text else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Four to six plain and four or five hidden factors."""
        prose, columns = draw_prose(rng, medium_of(domain), int(rng.integers(4, 7)), int(rng.integers(4, 6)))
        plain, hidden = (tuple(name for name in part if name in prose.factors) for part in text_factors(prose))
        few = problem.link in ("multiclass", "multilabel")
        return Factors(
            table=TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=tuple(columns)),
            grammar=grammar_of(plain, hidden, 2 if few else 3),
            content=prose,
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """The text column and whose words it holds."""
        domain = blueprint.lexicon()
        medium = medium_of(domain)
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(PublicColumn(medium.column, "text", medium.description),),
            paragraphs=(f"The column `{medium.column}` holds {medium.subject}: a few English sentences.",),
        )
