"""A term: one readable ingredient of a hidden rule, and the registry of all kinds.

Vocabulary:
    easy     a main effect that any generic model finds: the reason why generic baselines beat a constant
    hidden   a structure that a generic model does not find in 200 rows, but a good data scientist can
    source   the numpy expression over a DataFrame ``df`` without missing values, for generator and informed baseline
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Self, TypeVar

import numpy as np

from sandmle.agents.procedural.schema import TableSchema
from sandmle.record import Record

__all__ = ["Generator", "Term", "pick", "register", "term_kinds", "tidy"]

Generator = np.random.Generator
T = TypeVar("T")


class Term(Record, ABC):
    """Base of every kind of term. ``share`` says which part of a table's rule it can play."""

    share: ClassVar[Literal["easy", "hidden"]]
    kind: str

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    @abstractmethod
    def source(self) -> str:
        """The numpy expression that computes it; shape (n,)."""

    @abstractmethod
    def readable(self) -> str:
        """The same for people."""

    def complexity(self) -> float:
        """How hard the term is to think of, in [0, 1]: main effects little, others by how many columns they join."""
        return 0.2 if self.share == "easy" else min(0.25 + 0.25 * len(self.columns()), 1.0)

    @classmethod
    @abstractmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        """A random term of this kind over ``schema``; None if the schema lacks the columns it needs."""


_KINDS: dict[str, type[Term]] = {}


def register(kind: type[Term]) -> type[Term]:
    """Make a kind of term drawable; its name is the value of its ``kind`` field."""
    name = kind.model_fields["kind"].default
    if name in _KINDS:
        raise ValueError(f"two kinds of term are named {name!r}")
    _KINDS[name] = kind
    return kind


def term_kinds(share: Literal["easy", "hidden"] | None = None) -> tuple[type[Term], ...]:
    """All kinds, or those that ``share`` names, sorted by name."""
    return tuple(kind for _, kind in sorted(_KINDS.items()) if share in (None, kind.share))


def pick(rng: Generator, items: tuple[T, ...], count: int) -> tuple[T, ...] | None:
    """``count`` different items in random order, None if there are too few."""
    if len(items) < count:
        return None
    return tuple(items[int(index)] for index in rng.permutation(len(items))[:count])


def tidy(value: float) -> float:
    """A parameter with three significant digits, so that rules stay readable."""
    return float(f"{value:.3g}")
