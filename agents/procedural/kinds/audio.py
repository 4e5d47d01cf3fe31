"""Audio: short clips of one of three scenes, whose label follows from what happens in them.

Scenes:
    pulses   a row of short tones: how many, how even, how high, gliding up or down, which one is loudest
    drone    a long low tone that glides under a steady high one, both with a tremolo
    pair     a low and a high event: which comes first, how far apart, how long each lasts

Every scene lies between 250 and 1,400 Hz. Hum below and hiss above it and the loudness of the clip are set after the
scene has been brought to one energy, so that none of these plain factors tells anything of the hidden ones.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, PublicFile, TaskKind, register
from sandmle.agents.procedural.lexicon import AudioMedium, Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema
from sandmle.errors import SandmleError
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["SCENES", "Audio", "AudioContent", "Scene"]

RATE = 4000
SAMPLES = 2000
PAIRS = ("difference", "extreme", "gate", "interaction", "level_optimum", "level_slope", "sign_agreement")
Scene = Literal["pulses", "drone", "pair"]
SCENES: tuple[Scene, ...] = ("pulses", "drone", "pair")


HIDDEN_TERMS: dict[Scene, tuple[str, ...]] = {"pulses": (*PAIRS, "band", "optimum"), "drone": PAIRS, "pair": PAIRS}
"""Bands of the spectrum show how far a steady tone lies from a best one, so there terms need two factors."""


class AudioContent(Record):
    """Settings of the templates: the column of paths, the scene, samples a clip and samples a second."""

    column: str
    scene: Scene
    samples: int = SAMPLES
    rate: int = RATE


def _number(name: str, low: float, high: float, decimals: int, description: str) -> NumericColumn:
    return NumericColumn(
        name=name, unit="", description=description, low=low, high=high, shape="uniform", decimals=decimals
    )


COMMON: tuple[Column, ...] = (
    _number("loudness", -38, -22, 2, "level of the clip in dB of full scale"),
    _number("hiss", -24, -8, 2, "level of the hiss against the scene in dB"),
    _number("hum", -24, -8, 2, "level of the hum against the scene in dB"),
)
_BRIGHTNESS = _number("brightness", -8, 8, 2, "level of the high tone against the low one in dB")
PLAIN: dict[Scene, tuple[Column, ...]] = {
    "pulses": (_number("span", 0.28, 0.44, 3, "seconds from the first pulse to the last"),),
    "drone": (_BRIGHTNESS, _number("length", 0.3, 0.46, 3, "seconds of sound")),
    "pair": (_BRIGHTNESS,),
}
HIDDEN: dict[Scene, tuple[Column, ...]] = {
    "pulses": (
        _number("pulses", 2.5, 7.5, 0, "number of pulses"),
        _number("unevenness", 0.0, 0.4, 3, "spread of the times between pulses over their mean"),
        _number("tone", 520, 900, 1, "frequency in the middle of the row in Hz"),
        _number("glide", -0.5, 0.5, 3, "octaves from the first pulse to the last"),
        _number("ring", 1.5, 4.0, 2, "milliseconds to the peak of a pulse and of its decay"),
        _number("accent", 0.0, 1.0, 4, "place of the loudest pulse, 0 for the first and 1 for the last"),
    ),
    "drone": (
        _number("low_tone", 300, 460, 1, "frequency of the low tone at half time in Hz"),
        _number("high_tone", 780, 1250, 1, "frequency of the high tone in Hz"),
        _number("glide", -0.35, 0.35, 3, "octaves of the low tone from start to end"),
        _number("tremolo", 11, 30, 2, "swells a second"),
    ),
    "pair": (
        _number("gap", 100, 260, 1, "milliseconds between the middles of both events"),
        _number("low_length", 50, 130, 1, "milliseconds of the low event"),
        _number("high_length", 50, 130, 1, "milliseconds of the high event"),
        _number("low_tone", 300, 520, 1, "frequency of the low event in Hz"),
        _number("high_tone", 780, 1250, 1, "frequency of the high event in Hz"),
        CategoricalColumn(name="order", description="which comes first", levels=("low", "high"), weights=(0.5, 0.5)),
    ),
}


@register
class Audio(TaskKind):
    """Sound clips."""

    name = "audio"
    modality = "audio"
    n_test = 1000
    problems: ClassVar = {"binary": 3, "multiclass": 2, "multilabel": 1, "regression": 2}

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """As everywhere, where the domain has sound."""
        return super().target(domain, problem) if domain.media.audio else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """All factors of one scene; the rule reads three or four plain and four hidden ones."""
        scene = SCENES[int(rng.integers(len(SCENES)))]
        plain, hidden = (*COMMON, *PLAIN[scene]), HIDDEN[scene]
        easy, deep = (
            tuple(columns[int(index)].name for index in rng.permutation(len(columns))[:4])
            for columns in (plain, hidden)
        )
        two = problem.link in ("multiclass", "multilabel")
        return Factors(
            table=TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*plain, *hidden)),
            grammar=RuleGrammar(
                easy=Part(share="easy", count=(1, 2) if two else (2, 3), columns=easy),
                hidden=Part(share="hidden", count=(1, 1) if two else (1, 2), columns=deep, kinds=HIDDEN_TERMS[scene]),
                easy_share=(0.3, 0.6),
            ),
            content=AudioContent(column=_medium(domain).column, scene=scene),
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """The folders of clips."""
        content = AudioContent.model_validate(dict(blueprint.content))
        domain = blueprint.lexicon()
        medium = _medium(domain)
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(PublicColumn(medium.column, "path of a WAV file", medium.description),),
            files=(
                PublicFile("train_audio/", "the recordings that `train.csv` names"),
                PublicFile("test_audio/", "the recordings that `test.csv` names"),
            ),
            paragraphs=(
                f"Each recording is of {medium.subject}; it was made by {medium.source}. Recordings are WAV files of"
                f" {content.samples / content.rate:g} s: mono, 16 bit, {content.rate} samples a second.",
            ),
        )


def _medium(domain: Domain) -> AudioMedium:
    if domain.media.audio is None:
        raise SandmleError(f"the domain {domain.slug} has no sound")
    return domain.media.audio
