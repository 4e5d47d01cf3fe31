"""A kind of task: one modality with the problems it can pose, and the registry of all kinds.

Vocabulary:
    kind      tabular, text, image, ...: how an item looks to a competitor; one file here, one folder of templates
    factor    a quantity of an item that the hidden rule reads. A table's factors are its columns; a picture's are drawn
              first and rendered; a series' and a graph's are computed from the public data
    plain     a factor whose main effect generic features show: what easy terms read
    content   whatever else the kind's templates need, as a record of the kind's own

A kind's templates lie in ``templates/kinds/<name>/``:
    generate.py.j2   extends ``generate/_rule.py.j2`` (or ``_frame.py.j2``): how items are drawn and published
    simple.py.j2     ``simple_matrix(train, test)``: features that everyone tries first, standardised, shape (rows, p)
    strong.py.j2     ``strong_matrix(train, test)``: what a good competitor computes without knowing the rule
    observe.py.j2    ``observe(table, split)``: the factors, worked out from what is public
    <rung>.py.j2     a whole rung, where the shared one of ``templates/baselines/`` does not fit
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.lexicon import Domain, RegressionTarget, Target
from sandmle.agents.procedural.mutations import Mutation
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import AnyRule, RuleGrammar, draw_rule
from sandmle.agents.procedural.schema import TableSchema
from sandmle.agents.roles import BASELINE_RUNGS
from sandmle.record import Record
from sandmle.task import Modality, ProblemType, StructuralDNA

__all__ = ["Brief", "Factors", "PublicColumn", "PublicFile", "TaskKind", "get_kind", "register", "task_kinds"]


@dataclass(frozen=True)
class Factors:
    """What the rule may read, and what the kind's templates need beside it.

    Attributes:
        table: all factors; for tables the public columns in the order of the files.
        grammar: which terms over which of them make the easy and the hidden part of a signal.
        content: settings of the templates.
    """

    table: TableSchema
    grammar: RuleGrammar
    content: Record | None = None


@dataclass(frozen=True)
class PublicFile:
    """One line of the brief's list of files; a folder's name ends in ``/``."""

    name: str
    description: str


@dataclass(frozen=True)
class PublicColumn:
    """One line of the brief's data dictionary; ``file`` is empty for train.csv and test.csv."""

    name: str
    kind: str
    description: str
    file: str = ""


@dataclass(frozen=True)
class Brief:
    """What the brief says of the data beyond train.csv, test.csv and sample_submission.csv.

    Attributes:
        item: what one row is, singular and plural, such as ("photo", "photos").
        paragraphs: facts that a competitor must be told: sizes, rates, units, declared shifts.
    """

    item: tuple[str, str]
    columns: tuple[PublicColumn, ...]
    files: tuple[PublicFile, ...] = ()
    paragraphs: tuple[str, ...] = field(default=())


class TaskKind(ABC):
    """One kind of task. Subclasses are registered by an instance.

    Attributes:
        name: unique; the name of the folder of templates.
        problems: problem type to how often it is drawn.
        n_test: hidden test rows where the settings leave the number open, in [500, 2000].
        rows_apart: whether items are drawn one by one; not so for the nodes of one network.
        preload: modules that its scripts import, imported once for all of them.
        rungs: the baselines; ``dummy`` first, ``informed`` last.
        unsuited_metrics: metrics of its links that it can't pose.
    """

    name: ClassVar[str]
    modality: ClassVar[Modality]
    problems: ClassVar[Mapping[ProblemType, float]]
    n_test: ClassVar[int] = 2000
    rows_apart: ClassVar[bool] = True
    preload: ClassVar[tuple[str, ...]] = ()
    rungs: ClassVar[tuple[str, ...]] = BASELINE_RUNGS
    unsuited_metrics: ClassVar[tuple[str, ...]] = ()

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's words for such a task; None if it has none."""
        name = {"forecasting": "forecast"}.get(problem, problem)
        found: Target | None = getattr(domain.targets, name, None)
        return found

    def scale(self, domain: Domain, target: Target) -> tuple[float, float, bool]:
        """Center and spread of a numeric target, and whether it can't be negative."""
        if isinstance(target, RegressionTarget):
            return target.center, target.spread, target.positive
        return 0.0, 1.0, False

    def mask_shape(self, rng: np.random.Generator) -> tuple[int, int] | None:
        """Height and width of the masks it asks for; None where it asks for none."""
        return None

    @abstractmethod
    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Draw factors and content."""

    def draw_rule(self, rng: np.random.Generator, factors: Factors, problem: Problem, dna: StructuralDNA) -> AnyRule:
        """Draw the hidden rule; the shared grammar by default."""
        return draw_rule(rng, factors.table, factors.grammar, problem, dna)

    def draw_mutations(self, rng: np.random.Generator, factors: Factors, problem: Problem) -> tuple[Mutation, ...]:
        """What goes wrong with the public table; nothing by default."""
        return ()

    @abstractmethod
    def brief(self, blueprint: Blueprint) -> Brief:
        """The words of the brief."""


_KINDS: dict[str, TaskKind] = {}


def register(kind: type[TaskKind]) -> type[TaskKind]:
    """Make a kind of task drawable."""
    if kind.name in _KINDS:
        raise ValueError(f"two kinds of task are named {kind.name!r}")
    _KINDS[kind.name] = kind()
    return kind


def task_kinds(modality: Modality | None = None) -> tuple[TaskKind, ...]:
    """All kinds, or those of one modality, by name."""
    return tuple(kind for _, kind in sorted(_KINDS.items()) if modality in (None, kind.modality))


def get_kind(name: str) -> TaskKind:
    """The kind called ``name``; a KeyError if there is none."""
    return _KINDS[name]
