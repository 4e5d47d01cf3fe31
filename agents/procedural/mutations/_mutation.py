"""A mutation: something that goes wrong between a clean draw and the published table, and the registry of all kinds.

Vocabulary:
    items      the factors before labels are drawn: a change there changes the labels along with it
    table      the public table after labels are drawn: the rule has read the clean values, competitors read these
    undo       what the informed baseline does about it, from public data alone
    published  the schema that competitors see: columns added, levels and descriptions changed
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import AnyRule
from sandmle.agents.procedural.schema import Column, NumericColumn, TableSchema
from sandmle.record import Record

__all__ = ["Generator", "Mutation", "mutation_kinds", "pick_numeric", "published", "register"]

Generator = np.random.Generator


class Mutation(Record, ABC):
    """Base of every kind of mutation. Statements are Python source, one line each."""

    kind: str

    def columns(self) -> tuple[str, ...]:
        """The columns it reads or changes; two mutations of one task share none."""
        return ()

    def on_items(self) -> tuple[str, ...]:
        """Statements over ``rng``, ``split`` and ``columns``, a dict of arrays."""
        return ()

    def on_table(self) -> tuple[str, ...]:
        """Statements over ``rng``, ``split`` and the DataFrame ``df``."""
        return ()

    def undo(self) -> tuple[str, ...]:
        """Statements over the DataFrames ``table`` (to be changed) and ``train`` (as it is public)."""
        return ()

    def publish(self, column: Column) -> tuple[Column, ...]:
        """What stands in the public table in the place of ``column``."""
        return (column,)

    def changed(self, rule: AnyRule) -> AnyRule:
        """The rule under this mutation."""
        return rule

    def words(self) -> str:
        """A paragraph of the brief; empty if competitors can do without."""
        return ""

    def shifted(self) -> tuple[str, ...]:
        """Columns whose law differs between train and test; ``words`` names them."""
        return ()

    def label_noise(self) -> float:
        """Share of labels that are replaced by a random one, in [0, 1)."""
        return 0.0

    @classmethod
    @abstractmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        """A random mutation of this kind over the columns of ``table``; None if it does not suit."""


_KINDS: dict[str, type[Mutation]] = {}


def register(kind: type[Mutation]) -> type[Mutation]:
    """Make a kind of mutation drawable; its name is the value of its ``kind`` field."""
    name = kind.model_fields["kind"].default
    if name in _KINDS:
        raise ValueError(f"two kinds of mutation are named {name!r}")
    _KINDS[name] = kind
    return kind


def mutation_kinds() -> tuple[type[Mutation], ...]:
    """All kinds, sorted by name."""
    return tuple(kind for _, kind in sorted(_KINDS.items()))


def published(table: TableSchema, mutations: Sequence[Mutation]) -> TableSchema:
    """The schema that competitors see."""
    columns = table.columns
    for mutation in mutations:
        columns = tuple(new for column in columns for new in mutation.publish(column))
    return table.model_copy(update={"columns": columns})


def pick_numeric(rng: Generator, columns: Sequence[NumericColumn]) -> NumericColumn | None:
    """One of the columns, None if there is none."""
    return columns[int(rng.integers(len(columns)))] if columns else None
