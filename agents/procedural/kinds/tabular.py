"""Tables: one row an item, numbers, categories, ordered categories and dates in the seed's proportions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.lexicon import Domain, Setting
from sandmle.agents.procedural.mutations import Mutation, draw_mutations, published
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    Column,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    TableSchema,
)
from sandmle.errors import SandmleError
from sandmle.task import StructuralDNA

__all__ = ["Tabular", "draw_table", "public_columns", "told"]


@register
class Tabular(TaskKind):
    """A plain table."""

    name = "tabular"
    modality = "tabular"
    problems: ClassVar = {"binary": 3, "multiclass": 2, "multilabel": 1.5, "ordinal": 1.5, "regression": 3}

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Columns in the seed's proportions."""
        two = problem.link in ("multiclass", "multilabel")
        grammar = RuleGrammar(hidden=Part(share="hidden", count=(1, 2 if two else 3), joint=1))
        return Factors(table=draw_table(rng, domain, dna), grammar=grammar)

    def draw_mutations(self, rng: np.random.Generator, factors: Factors, problem: Problem) -> tuple[Mutation, ...]:
        """None to three."""
        return draw_mutations(rng, factors.table, problem)

    def brief(self, blueprint: Blueprint) -> Brief:
        """The data dictionary."""
        domain, columns = blueprint.world(), published(blueprint.table, blueprint.mutations).columns
        return Brief(
            item=(domain.entity, domain.entities),
            columns=public_columns(columns),
            paragraphs=told(domain, columns, blueprint.mutations),
        )


def draw_table(rng: np.random.Generator, domain: Domain, dna: StructuralDNA) -> TableSchema:
    """Columns in the seed's proportions, mutated by a little, so that no two tasks of a seed look alike."""
    n_numeric = int(np.clip(dna.n_numeric + rng.integers(-1, 3), 5, 11))
    n_categorical = int(np.clip(dna.n_categorical + rng.integers(0, 3), 1, 4))
    missing = dna.missing_share or (0.0, 0.0, 0.03, 0.06)[int(rng.integers(4))]
    columns: list[Column] = [
        *_numeric(rng, domain, n_numeric, missing),
        *_categorical(rng, domain, n_categorical, missing),
        *_ordinal(rng, domain, int(rng.integers(0, 3))),
    ]
    if dna.n_dates or rng.random() < 0.5:
        day = domain.dates[0]
        start, end = day.start.isoformat(), day.end.isoformat()
        columns.append(DateColumn(name=day.name, description=day.description, start=start, end=end))
    shuffled = tuple(columns[int(index)] for index in rng.permutation(len(columns)))
    return TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=shuffled)


def public_columns(columns: tuple[Column, ...]) -> tuple[PublicColumn, ...]:
    """The lines of the data dictionary."""
    return tuple(PublicColumn(column.name, _kind_of(column), column.description) for column in columns)


def told(domain: Setting, columns: tuple[Column, ...], mutations: tuple[Mutation, ...]) -> tuple[str, ...]:
    """What a brief says of the cells of a table beyond its dictionary."""
    empty = "Some cells are empty: the value was not recorded." if any(column.missing for column in columns) else ""
    return tuple(text for text in (domain.figures, empty, *(mutation.words() for mutation in mutations)) if text)


def _numeric(rng: np.random.Generator, domain: Domain, count: int, missing: float) -> list[NumericColumn]:
    group = domain.groups[int(rng.integers(len(domain.groups)))] if rng.random() < 0.6 else ()
    members = [column for column in domain.numeric if column.name in group]
    others = [column for column in domain.numeric if column.name not in group]
    order = rng.permutation(len(others))[: max(count - len(members), 2)]
    loading = round(float(rng.uniform(0.6, 0.8)), 2)
    return [
        NumericColumn(
            **{key: getattr(column, key) for key in ("name", "unit", "description", "low", "high", "shape")},
            decimals=_decimals(column.high, column.decimals),
            group=0 if column.name in group else None,
            loading=loading if column.name in group else 0.0,
            missing=_missing(rng, missing),
        )
        for column in [*members, *(others[int(index)] for index in order)]
    ]


def _categorical(rng: np.random.Generator, domain: Domain, count: int, missing: float) -> list[CategoricalColumn]:
    found = []
    for index in rng.permutation(len(domain.categorical))[:count]:
        entry = domain.categorical[int(index)]
        weights = rng.dirichlet(np.full(len(entry.levels), 12.0))
        shares = [round(float(weight), 3) for weight in weights[:-1]]
        found.append(
            CategoricalColumn(
                name=entry.name,
                description=entry.description,
                levels=entry.levels,
                weights=(*shares, round(1.0 - sum(shares), 3)),
                missing=_missing(rng, missing),
            )
        )
    return found


def _ordinal(rng: np.random.Generator, domain: Domain, count: int) -> list[OrdinalColumn]:
    chosen = [domain.ordinal[int(index)] for index in rng.permutation(len(domain.ordinal))[:count]]
    return [OrdinalColumn(name=entry.name, description=entry.description, levels=entry.levels) for entry in chosen]


def _missing(rng: np.random.Generator, share: float) -> float:
    """About every third column has empty cells, up to three times ``share`` of them."""
    return round(float(min(share * rng.uniform(1.0, 3.0), 0.2)), 3) if share and rng.random() < 0.35 else 0.0


def _decimals(high: float, decimals: int) -> int:
    """At most six significant digits, so that ``%.6g`` writes a value whole."""
    return max(min(decimals, 6 - len(str(int(abs(high))))), 0)


def _kind_of(column: Column) -> str:
    match column:
        case NumericColumn(unit=""):
            return "number"
        case NumericColumn(unit=unit):
            return f"number ({unit})"
        case CategoricalColumn(levels=levels):
            return f"category: {', '.join(levels)}"
        case OrdinalColumn(levels=levels):
            return f"ordered category: {' < '.join(levels)}"
        case DateColumn():
            return "date (YYYY-MM-DD)"
        case _:
            raise SandmleError(f"the writer has no words for a column of kind {column.kind!r}")
