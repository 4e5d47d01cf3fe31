"""Masks: which pixels of a picture belong to what the domain asks for; the hidden rule reads fields of single pixels.

The fields are computed from the published pictures. Plain ones show in filters that everyone applies: brightness,
colour cast, local contrast. Hidden ones need an idea: which way the weave leans, how coarse it is, how far the nearest
bright spot lies, brightness against the rest of the picture, and the place in the picture.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, TaskKind, register
from sandmle.agents.procedural.kinds._pictures import (
    COLOUR_SHARE,
    PLAIN_KINDS,
    TINTS,
    image_medium,
    picture_column,
    picture_files,
    picture_paragraph,
)
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import NumericColumn, TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["MaskContent", "Segmentation"]

SHAPES = ((24, 24), (24, 32), (28, 28), (32, 24), (32, 32))
PATCHES = (2.6, 3.2, 3.8)
PERIODS = ((2.8, 5.2), (3.0, 5.8), (3.2, 6.4))
LUCK = (0.6, 1.0, 1.4)
PLAIN = {
    "tone": "Brightness, smoothed",
    "roughness": "Local contrast on a log scale",
    "warmth": "Excess of red over blue, smoothed",
}
HIDDEN = {
    "lean": "Which way the weave leans, from left to right",
    "coarseness": "Share of coarse texture over fine",
    "mark_distance": "Distance to the nearest bright spot",
    "standout": "Brightness against the rest of the picture",
    "row": "Place from top to bottom",
    "column": "Place from left to right",
}
PLACES = ("row", "column")
HIDDEN_KINDS = (
    "band",
    "difference",
    "distance",
    "flip",
    "folded_sum",
    "gate",
    "interaction",
    "optimum",
    "saturated_product",
    "sign_agreement",
    "soft_agreement",
    "soft_gate",
)


class MaskContent(Record):
    """What the templates need.

    Attributes:
        patch: size of a region in pixels (standard deviation of the smoothing).
        periods: of the fine and the coarse weave, in pixels.
        luck: over how many pixels neighbours share their noise.
        tint: what each channel adds.
    """

    column: str
    colour: bool
    patch: float
    periods: tuple[float, float]
    luck: float
    tint: tuple[float, float, float]


@register
class Segmentation(TaskKind):
    """The pixels of a picture."""

    name = "segmentation"
    modality = "image"
    problems: ClassVar = {"segmentation": 2}
    n_test = 600
    preload = ("PIL.Image", "PIL.PngImagePlugin")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's pixels, where it has pictures."""
        return domain.targets.segmentation if domain.media.image else None

    def mask_shape(self, rng: np.random.Generator) -> tuple[int, int]:
        """Height and width of the pictures."""
        return SHAPES[int(rng.integers(len(SHAPES)))]

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """The look of the pictures, and which fields the rule may read; places only beside another field."""
        colour = bool(rng.random() < COLOUR_SHARE)
        content = MaskContent(
            column=image_medium(domain).column,
            colour=colour,
            patch=PATCHES[int(rng.integers(len(PATCHES)))],
            periods=PERIODS[int(rng.integers(len(PERIODS)))],
            luck=LUCK[int(rng.integers(len(LUCK)))],
            tint=TINTS[int(rng.integers(len(TINTS)))],
        )
        plain = tuple(name for name in PLAIN if colour or name != "warmth")
        shapes = tuple(name for name in HIDDEN if name not in PLACES)
        hidden = (*(shapes[int(k)] for k in rng.permutation(len(shapes))[:3]), PLACES[int(rng.integers(2))])
        grammar = RuleGrammar(
            easy=Part(share="easy", count=(2, 2), columns=plain, kinds=PLAIN_KINDS),
            hidden=Part(share="hidden", count=(1, 3), columns=hidden, kinds=HIDDEN_KINDS),
            easy_share=(0.42, 0.65),
        )
        columns = tuple(_field(name, text) for name, text in (PLAIN | HIDDEN).items() if name in (*plain, *HIDDEN))
        table = TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=columns)
        return Factors(table=table, grammar=grammar, content=content)

    def brief(self, blueprint: Blueprint) -> Brief:
        """The column of paths, the folders, what a picture is and how masks are written."""
        domain, content = blueprint.lexicon(), MaskContent.model_validate(blueprint.content)
        target, shape = blueprint.problem.target, blueprint.problem.mask_shape or (0, 0)
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(picture_column(domain),),
            files=picture_files(),
            paragraphs=(
                picture_paragraph(domain, *shape, "a bright spot", colour=content.colour),
                f"The outlines of `{target}` were drawn with a tool that follows texture and shade, so a mask holds"
                " regions and not the single spots.",
                f"`{target}` is written as run lengths: pairs of a first pixel and a number of pixels, counted from 1,"
                " row by row from the upper left corner; `none` is an empty mask.",
            ),
        )


def _field(name: str, description: str) -> NumericColumn:
    return NumericColumn(name=name, unit="", description=description, low=-3.0, high=3.0, shape="normal", decimals=6)
