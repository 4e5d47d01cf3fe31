"""Pairs of texts: how the two stand to each other. Both texts name the same objects, people and deeds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds._prose import Prose, draw_prose, draw_some, grammar_of, medium_of, text_factors
from sandmle.agents.procedural.lexicon import BinaryTarget, Domain, PairMedium, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["Pair", "PairProse"]

SCORE = (5.0, 1.5)
"""Center and spread of a score."""
SCORED = " The score is the average over many readers, who each moved a slider; most scores lie between 0 and 10."
OPENERS = ("this is how it was.", "here is what there is to say.", "in a few words.", "to put it shortly.")
"""How either text of a pair may begin, whoever wrote it."""
N_OBJECTS = 4
"""Objects of one task; every text names them all."""
SIDES = ("left", "right")


class PairProse(Prose):
    """The vocabulary of a task of pairs; ``column`` is not used, ``factors`` are those of a single text."""

    left: str
    right: str


@register
class Pair(TaskKind):
    """Two texts an item."""

    name = "pair"
    modality = "text"
    n_test = 1000
    problems: ClassVar = {"regression": 2, "binary": 1}
    preload = ("sklearn.feature_extraction.text", "sklearn.decomposition")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The score of a pair, or whether its texts agree."""
        medium = domain.media.pair
        if medium is None:
            return None
        if problem == "regression":
            return medium.score
        return BinaryTarget(
            column=medium.score.column,
            title=medium.score.title,
            question="Would the readers say that the two texts agree?",
            description="Whether the readers found that the two texts agree",
            labels=("differ", "agree"),
        )

    def scale(self, domain: Domain, target: Target) -> tuple[float, float, bool]:
        """Readers give about 0 to 10."""
        return *SCORE, False

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Four or five plain and five or six hidden factors of the two texts together."""
        medium = _medium_of(domain)
        prose, _ = draw_prose(rng, medium_of(domain), 4, 4)
        plain, hidden = _pair_factors(prose)
        plain_names = ("shared_words", *draw_some(rng, tuple(name for name in plain if name != "shared_words"), 4))
        numbers = tuple(name for name, column in hidden.items() if isinstance(column, NumericColumn))
        levels = tuple(name for name in hidden if name not in numbers)
        wanted = {*draw_some(rng, numbers, 3), *draw_some(rng, levels, int(rng.integers(2, 4)))}
        hidden_names = tuple(name for name in hidden if name in wanted)
        columns = tuple(column for name, column in {**plain, **hidden}.items() if name in (*plain_names, *hidden_names))
        words = tuple(word for _, topic in prose.topics for word in topic)
        content = prose.model_copy(
            update={
                "factors": _text_names(plain_names, hidden_names),
                "objects": prose.objects[:N_OBJECTS],
                "topics": (("shared_words", words),),
                "openers": OPENERS,
            }
        )
        return Factors(
            table=TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=columns),
            grammar=grammar_of(plain_names, hidden_names, 3),
            content=PairProse(**content.model_dump(), left=medium.left, right=medium.right),
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """The two columns of text."""
        domain = blueprint.lexicon()
        medium = _medium_of(domain)
        scored = "" if blueprint.problem.link == "binary" else SCORED
        return Brief(
            item=("pair of texts", "pairs of texts"),
            columns=(
                PublicColumn(medium.left, "text", medium.left_description),
                PublicColumn(medium.right, "text", medium.right_description),
            ),
            paragraphs=(
                f"Each row holds {medium.subject}: a few English sentences each, in `{medium.left}` and"
                f" `{medium.right}`.{scored}",
            ),
        )


def _medium_of(domain: Domain) -> PairMedium:
    if domain.media.pair is None:
        raise ValueError(f"domain {domain.slug} has no pairs of texts")
    return domain.media.pair


def _pair_factors(prose: Prose) -> tuple[dict[str, Column], dict[str, Column]]:
    """Plain and hidden factors of a pair: those of its sides, and in what the sides agree."""
    plain, hidden = text_factors(prose)
    sided = ("blame_words", "exclamations", "questions", "asides", "remarks")
    shared = NumericColumn(
        name="shared_words",
        unit="",
        description="Topic words in both texts",
        low=0,
        high=3,
        shape="uniform",
        decimals=0,
    )
    plains = [shared, *(_of(side, plain[name]) for name in sided for side in SIDES)]
    hiddens = [_of(side, hidden[name]) for name in ("denied_praise", "quantity") for side in SIDES]
    agreements: list[Column] = [
        CategoricalColumn(name=name, description=description, levels=("same", "other"), weights=(0.5, 0.5))
        for name, description in (
            ("agreed_object", "Whether both texts begin with one object"),
            ("agreed_doer", "Whether both texts name one doer"),
            ("agreed_order", "Whether both texts tell one order of events"),
            ("agreed_tone", "Whether both texts begin with praise, or both with blame"),
        )
    ]
    return {column.name: column for column in plains}, {column.name: column for column in (*hiddens, *agreements)}


def _of(side: str, column: Column) -> Column:
    return column.model_copy(update={"name": f"{side}_{column.name}", "description": f"{column.description}, {side}"})


def _text_names(plain: tuple[str, ...], hidden: tuple[str, ...]) -> tuple[str, ...]:
    """The factors of a single text that the factors of the pair need."""
    needed = {name.removeprefix("left_").removeprefix("right_") for name in (*plain, *hidden)}
    renamed = {"agreed_doer": "doer", "agreed_order": "acted_first"}
    found = {renamed.get(name, name) for name in needed}
    return tuple(sorted(found | ({"quantity_before"} if "quantity" in found else set())))
