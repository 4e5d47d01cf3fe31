"""Drawn pictures: light, texture and marks, and the factors that a rule may read in them.

Vocabulary:
    light      brightness in the middle, slope from left to right, fall towards the corners, a cast in colour pictures
    texture    stripes of one direction and period, or blotches, with a strength; grit is the noise of single pixels
    mark       a disc or ring; all marks of a picture hold the same ink together, however many they are
    odd mark   one mark that is bright where the others are dark, or dark where they are bright

Light, strengths and the depth of the marks are plain: averages show them. Numbers, places, directions and periods are
hidden: they move no average.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sandmle.agents.procedural.kinds._kind import PublicColumn, PublicFile
from sandmle.agents.procedural.lexicon import Domain, ImageMedium
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn
from sandmle.record import Record

__all__ = [
    "HIDDEN_KINDS",
    "PLAIN_KINDS",
    "Picture",
    "draw_picture",
    "factors_of",
    "image_medium",
    "mark_shape",
    "picture_column",
    "picture_files",
    "picture_paragraph",
    "plain_and_hidden",
]

SIZES = (36, 38, 40)
INK_SHARE = {False: 0.056, True: 0.075}
"""Area of all marks over that of the picture, without and with rings."""
STRONGEST = {"stripes": 0.04, "blotches": 0.026}
"""Texture of greater strength would hide marks."""
MOST_MARKS = {False: 8, True: 6}
COLOUR_SHARE = 0.55
PLAIN_KINDS = ("average", "hinge", "linear", "saturation")
HIDDEN_KINDS = (
    "band",
    "difference",
    "distance",
    "extreme",
    "flip",
    "folded_sum",
    "gate",
    "interaction",
    "level_optimum",
    "level_slope",
    "linear",
    "optimum",
    "saturated_product",
    "sign_agreement",
    "soft_agreement",
    "soft_gate",
)
TINTS = (
    (0.04, 0.0, -0.04),
    (-0.04, 0.0, 0.04),
    (-0.02, 0.04, -0.02),
    (0.06, -0.01, -0.05),
    (0.0, 0.0, 0.0),
    (0.02, 0.02, -0.04),
)
MARK_TINTS = ((1.0, 1.0, 1.0), (0.7, 1.1, 1.2), (1.2, 1.0, 0.8), (0.8, 1.3, 0.9), (1.15, 0.75, 1.1))


LOOKS = (
    (True, True, False),
    (True, False, True),
    (False, True, True),
    (False, False, True),
    (False, True, False),
)
"""Whether there are rings, an odd mark and stripes."""


class Picture(Record):
    """How the pictures of a task look.

    Attributes:
        column: the column of paths.
        size: height and width in pixels.
        ink: area of all marks of a picture, in pixels.
        most_marks: most ordinary marks of a picture; the fewest are 3.
        mark_sign: -1 for dark marks, 1 for bright ones.
        tint: what the background adds to each channel; ``mark_tint`` multiplies the depth of marks.
        laid_out: factors that follow from the places of the marks.
        lit: factors that are drawn as they are.
    """

    column: str
    size: int
    colour: bool
    ink: float
    most_marks: int
    rings: bool
    odd: bool
    texture: Literal["stripes", "blotches"]
    mark_sign: float
    tint: tuple[float, float, float]
    mark_tint: tuple[float, float, float]
    laid_out: tuple[str, ...]
    lit: tuple[str, ...]


def image_medium(domain: Domain) -> ImageMedium:
    """The domain's picture; every domain of an image task has one."""
    assert domain.media.image is not None
    return domain.media.image


def draw_picture(rng: np.random.Generator, domain: Domain) -> Picture:
    """The look of a task's pictures: at least one of rings, odd mark and stripes."""
    rings, odd, stripes = LOOKS[int(rng.integers(len(LOOKS)))]
    size = SIZES[int(rng.integers(len(SIZES)))]
    colour = bool(rng.random() < COLOUR_SHARE)
    laid_out: tuple[str, ...] = ("mark_spread", "mark_stretch")
    if rings:
        laid_out += ("ring_share",)
    if odd:
        laid_out += ("odd_rise", "odd_distance", "odd_side")
    return Picture(
        column=image_medium(domain).column,
        size=size,
        colour=colour,
        ink=round(INK_SHARE[rings] * size**2, 1),
        most_marks=MOST_MARKS[rings],
        rings=rings,
        odd=odd,
        texture="stripes" if stripes else "blotches",
        mark_sign=-1.0 if rng.random() < 0.5 else 1.0,
        tint=TINTS[int(rng.integers(len(TINTS)))],
        mark_tint=MARK_TINTS[int(rng.integers(len(MARK_TINTS)))],
        laid_out=laid_out,
        lit=("brightness", "slope", "vignette", "grain", "grit", "depth", *(("warmth", "greenness") if colour else ())),
    )


def factors_of(picture: Picture) -> tuple[Column, ...]:
    """All factors of such pictures; those of the layout are written with the law that the layout gives them."""
    bright = (0.54, 0.74) if picture.mark_sign < 0 else (0.36, 0.54)
    found: list[Column] = [
        _uniform("brightness", "Brightness of the background in the middle", *bright),
        _uniform("slope", "Rise of the background from left to right", -0.12, 0.12),
        _uniform("vignette", "Fall of the background from the middle to the corners", 0.0, 0.22),
        _uniform("grain", "Strength of the texture", 0.008, STRONGEST[picture.texture]),
        _uniform("grit", "Noise of single pixels", 0.008, 0.028),
        _uniform("depth", "Contrast of the marks", 0.2, 0.32),
    ]
    if picture.colour:
        found += [
            _uniform("warmth", "Excess of red over blue", -0.06, 0.06),
            _uniform("greenness", "Excess of green", -0.05, 0.05),
        ]
    found += [
        _uniform("mark_count", "Number of ordinary marks", 2.5, picture.most_marks + 0.5, decimals=0),
        _normal(
            "mark_spread", "Mean square distance of the marks from their middle, in pixels", *_spread(picture.size)
        ),
        _normal("mark_stretch", "How much the marks lie along a line, from 0 to 1", 0.0, 1.2),
    ]
    if picture.rings:
        found.append(_uniform("ring_share", "Share of the marks that are rings", 0.0, 1.0))
    if picture.odd:
        third = picture.size / 3
        found += [
            _normal("odd_rise", "How far the odd mark lies above the middle of the others, in pixels", -third, third),
            _normal("odd_distance", "Distance of the odd mark from the middle of the others", 0.0, 0.7 * picture.size),
            CategoricalColumn(
                name="odd_side",
                description="Side of the others on which the odd mark lies",
                levels=("above", "right", "below", "left"),
                weights=(0.25, 0.25, 0.25, 0.25),
            ),
        ]
    if picture.texture == "stripes":
        found += [
            _uniform("stripe_angle", "Direction across the stripes, in degrees", -70.0, 70.0),
            _uniform("stripe_period", "Period of the stripes, in pixels", 3.4, 8.0),
        ]
    return tuple(found)


def plain_and_hidden(rng: np.random.Generator, picture: Picture) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The factors that easy terms and those that hidden terms of one task may read, a few of each."""
    names = tuple(column.name for column in factors_of(picture))
    hidden = tuple(name for name in names if name not in picture.lit)
    plain = tuple(picture.lit[int(k)] for k in rng.permutation(len(picture.lit))[: int(rng.integers(4, 6))])
    kept = {hidden[int(k)] for k in rng.permutation(len(hidden))[: int(rng.integers(4, 6))]}
    return plain, tuple(name for name in hidden if name in kept)


def picture_column(domain: Domain) -> PublicColumn:
    """The line of the data dictionary."""
    medium = image_medium(domain)
    return PublicColumn(medium.column, "path of a picture", medium.description)


def picture_files() -> tuple[PublicFile, ...]:
    """The folders of pictures."""
    return (
        PublicFile("train_images/", "the pictures that `train.csv` names"),
        PublicFile("test_images/", "the pictures that `test.csv` names"),
    )


def mark_shape(picture: Picture) -> str:
    """How a marking looks."""
    return "a disc or a ring" if picture.rings else "a disc"


def picture_paragraph(domain: Domain, height: int, width: int, shape: str, *, colour: bool) -> str:
    """What a picture is, who makes it, how markings of this shape come into it and how large it is."""
    medium = image_medium(domain)
    mode, look = ("in colour (RGB)", " and in false colours") if colour else ("in grey", "")
    return (
        f"Each picture shows {medium.subject} and was made by {medium.source}. The pictures are simplified{look}: each"
        f" {medium.markings} appears as {shape}. They are PNG files, {width} pixels wide and {height} high, {mode}, 8"
        " bits a channel; paths are relative to the folder of `train.csv`."
    )


def _spread(size: int) -> tuple[float, float]:
    return 0.05 * size, 0.55 * size


def _uniform(name: str, description: str, low: float, high: float, decimals: int = 6) -> NumericColumn:
    return NumericColumn(
        name=name, unit="", description=description, low=low, high=high, shape="uniform", decimals=decimals
    )


def _normal(name: str, description: str, low: float, high: float) -> NumericColumn:
    return NumericColumn(name=name, unit="", description=description, low=low, high=high, shape="normal", decimals=6)
