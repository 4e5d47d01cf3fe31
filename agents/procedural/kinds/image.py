"""Pictures: one drawn picture an item, with light, texture and marks; see ``_pictures`` for what a rule may read."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, TaskKind, register
from sandmle.agents.procedural.kinds._pictures import (
    HIDDEN_KINDS,
    PLAIN_KINDS,
    Picture,
    draw_picture,
    factors_of,
    mark_shape,
    picture_column,
    picture_files,
    picture_paragraph,
    plain_and_hidden,
)
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["Image", "ImageContent"]


class ImageContent(Record):
    """What the templates need."""

    picture: Picture


@register
class Image(TaskKind):
    """One picture an item."""

    name = "image"
    modality = "image"
    problems: ClassVar = {"binary": 3, "multiclass": 3, "multilabel": 2, "ordinal": 1, "regression": 2}
    n_test = 1000
    preload = ("PIL.Image", "PIL.PngImagePlugin", "scipy.fft", "scipy.ndimage")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's target, where it has pictures."""
        return super().target(domain, problem) if domain.media.image else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """A look, and a few plain and a few hidden factors that the rule may read."""
        picture = draw_picture(rng, domain)
        plain, hidden = plain_and_hidden(rng, picture)
        two = problem.link in ("multiclass", "multilabel")
        grammar = RuleGrammar(
            easy=Part(share="easy", count=(2, 2 if two else 3), columns=plain, kinds=PLAIN_KINDS),
            hidden=Part(share="hidden", count=(1, 2), columns=hidden, kinds=HIDDEN_KINDS),
            easy_share=(0.4, 0.7),
        )
        table = TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=factors_of(picture))
        return Factors(table=table, grammar=grammar, content=ImageContent(picture=picture))

    def brief(self, blueprint: Blueprint) -> Brief:
        """The column of paths, the folders, and what a picture is."""
        domain, picture = blueprint.lexicon(), ImageContent.model_validate(blueprint.content).picture
        size = picture.size
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(picture_column(domain),),
            files=picture_files(),
            paragraphs=(picture_paragraph(domain, size, size, mark_shape(picture), colour=picture.colour),),
        )
