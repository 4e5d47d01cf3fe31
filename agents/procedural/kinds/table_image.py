"""A table with a picture beside every row; easy and hidden terms read both, at least one hidden term each."""

from __future__ import annotations

from typing import ClassVar, TypeVar

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
from sandmle.agents.procedural.kinds.tabular import draw_table, public_columns, told
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import HiddenRule, Part, RuleGrammar, Signal, draw_rule
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["TableImage", "TableImageContent"]

EASY_KINDS = (*PLAIN_KINDS, "level_effect", "ordinal_trend")
TABLE_KINDS = tuple(kind for kind in HIDDEN_KINDS if kind != "linear")
FEW_LEVELS = 6
N_NUMERIC, N_OTHER = (3, 5), (1, 3)
"""Fewest and most columns of the table, at least one of them with few categories."""
T = TypeVar("T")


class TableImageContent(Record):
    """What the templates need: the look of the pictures, and the columns of the table."""

    picture: Picture
    columns: tuple[str, ...]


@register
class TableImage(TaskKind):
    """Four to seven columns and one picture an item."""

    name = "table_image"
    modality = "multimodal"
    problems: ClassVar = {"binary": 2, "multiclass": 1, "regression": 2}
    n_test = 1000
    preload = ("PIL.Image", "PIL.PngImagePlugin", "scipy.fft", "scipy.ndimage")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's target, where it has pictures."""
        return super().target(domain, problem) if domain.media.image else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Columns of the table and a look; the grammar is that of the picture, see ``draw_rule``."""
        picture = draw_picture(rng, domain)
        seen = factors_of(picture)
        columns = _draw_columns(rng, domain, dna, {column.name for column in seen})
        plain, hidden = plain_and_hidden(rng, picture)
        few = problem.link == "multiclass"
        grammar = RuleGrammar(
            easy=Part(share="easy", count=(1, 1 if few else 2), columns=plain, kinds=PLAIN_KINDS),
            hidden=Part(share="hidden", count=(1, 1), columns=hidden, kinds=HIDDEN_KINDS),
            easy_share=(0.35, 0.65),
        )
        table = TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*columns, *seen))
        content = TableImageContent(picture=picture, columns=tuple(column.name for column in columns))
        return Factors(table=table, grammar=grammar, content=content)

    def draw_rule(self, rng: np.random.Generator, factors: Factors, problem: Problem, dna: StructuralDNA) -> HiddenRule:
        """A rule over the pictures and one over the table, term by term in one."""
        content = factors.content
        assert isinstance(content, TableImageContent)
        levels = {column.name: len(column.levels) for column in factors.table.categorical()}
        told_easily = tuple(name for name in content.columns if levels.get(name, 0) <= FEW_LEVELS)
        table = RuleGrammar(
            easy=Part(share="easy", count=(1, 1), columns=told_easily, kinds=EASY_KINDS),
            hidden=Part(share="hidden", count=(1, 1), columns=told_easily, kinds=TABLE_KINDS),
        )
        shown = draw_rule(rng, factors.table, factors.grammar, problem, dna)
        told_of = draw_rule(rng, factors.table, table, problem, dna)
        signals = tuple(
            Signal(easy=(*left.easy, *right.easy), hidden=(*left.hidden, *right.hidden), easy_share=left.easy_share)
            for left, right in zip(shown.signals, told_of.signals, strict=True)
        )
        return shown.model_copy(update={"signals": signals})

    def brief(self, blueprint: Blueprint) -> Brief:
        """The data dictionary of the table, the column of paths, the folders, and what a picture is."""
        domain, content = blueprint.lexicon(), TableImageContent.model_validate(blueprint.content)
        columns = blueprint.table.only(content.columns).columns
        size = content.picture.size
        return Brief(
            item=(domain.entity, domain.entities),
            columns=(*public_columns(columns), picture_column(domain)),
            files=picture_files(),
            paragraphs=(
                picture_paragraph(domain, size, size, mark_shape(content.picture), colour=content.picture.colour),
                *told(domain, columns, ()),
            ),
        )


def _draw_columns(rng: np.random.Generator, domain: Domain, dna: StructuralDNA, taken: set[str]) -> tuple[Column, ...]:
    """A few columns of the domain's table, none with the name of a factor of the picture."""
    free = tuple(column for column in draw_table(rng, domain, dna).columns if column.name not in taken)
    numeric = [column for column in free if isinstance(column, NumericColumn)]
    others = [column for column in free if not isinstance(column, NumericColumn)]
    few = [c for c in others if isinstance(c, CategoricalColumn) and len(c.levels) <= FEW_LEVELS]
    kept = {column.name for column in (*_some(rng, numeric, N_NUMERIC), *_some(rng, others, N_OTHER), *few[:1])}
    return tuple(column for column in free if column.name in kept)


def _some(rng: np.random.Generator, items: list[T], count: tuple[int, int]) -> list[T]:
    """A random few in random order."""
    return [items[int(index)] for index in rng.permutation(len(items))[: int(rng.integers(count[0], count[1] + 1))]]
