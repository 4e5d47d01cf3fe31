"""What the Data Strategist writes: a whole competition on paper, checked before anything is built on it."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.lexicon import DictionaryLine, Level, Name, Question, Setting, Text, require_unique
from sandmle.agents.procedural.problems import Link, Problem, link_of, metrics_for
from sandmle.agents.procedural.rules import NOISE, Formula, HiddenRule, Signal, WeightedTerm
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    Column,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    TableSchema,
)
from sandmle.record import Record
from sandmle.task import Modality, ProblemType, StructuralDNA

__all__ = ["KINDS", "Milestones", "TaskDraft"]

KINDS: dict[Modality, str] = {
    "tabular": "tabular",
    "text": "text",
    "image": "image",
    "audio": "audio",
    "series": "series",
    "graph": "nodes",
    "multimodal": "table_text",
}
"""The kind of task whose sizes and baselines a modality takes."""
PROBLEMS: tuple[ProblemType, ...] = ("binary", "multiclass", "multilabel", "ordinal", "regression")
NUMBERS_APART = 1e-3
_NAME: TypeAdapter[str] = TypeAdapter(Name)
_LEVEL: TypeAdapter[str] = TypeAdapter(Level)


class TargetDraft(Record):
    """The column to predict; ``labels`` are its classes in order, ``center`` and ``spread`` those of a number."""

    column: Name
    description: DictionaryLine
    labels: tuple[Level, ...] = ()
    unit: str = ""
    center: float = 0.0
    spread: Annotated[float, Field(gt=0)] = 1.0
    positive: bool = False


class TermDraft(Record):
    """A weighted formula over the factors."""

    formula: Annotated[str, Field(max_length=300)]
    weight: float


class SignalDraft(Record):
    """What decides on the target: effects that anyone finds, and structure that takes thought."""

    easy: tuple[TermDraft, ...] = Field(min_length=2, max_length=4)
    hidden: tuple[TermDraft, ...] = Field(min_length=1, max_length=3)


class Milestones(Record):
    """The headroom that the Strategist expects of each tier, in [0, 1] and rising; 0 is a constant, 1 the best."""

    median: Annotated[float, Field(ge=0, le=1)]
    bronze: Annotated[float, Field(ge=0, le=1)]
    silver: Annotated[float, Field(ge=0, le=1)]
    gold: Annotated[float, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not all(low < high for low, high in pairwise(self.model_dump().values())):
            raise ValueError("milestones must rise strictly from median to gold")
        return self


class TaskDraft(Record):
    """A competition on paper.

    Attributes:
        dna: the structure of the seed, as the Strategist reads it.
        mutation: what is changed against that structure, and why it makes the task new.
        factors: the quantities that the rule reads; of a table they are its public columns.
        presentation: how an item shows its factors to competitors, for tasks that are no tables.
        easy_share: share of the signal's variance that the easy terms make.
        shares: of the positive class (binary), of each label (multilabel), of each class (ordinal); else empty.
    """

    dna: StructuralDNA
    mutation: Text
    setting: Setting
    title: Text
    question: Question
    problem_type: ProblemType
    metric: str
    id_column: Name
    id_prefix: Annotated[str, Field(pattern=r"^[A-Z]{2,5}$")]
    target: TargetDraft
    factors: tuple[Column, ...] = Field(min_length=5, max_length=16)
    presentation: str = ""
    signals: tuple[SignalDraft, ...] = Field(min_length=1, max_length=8)
    easy_share: Annotated[float, Field(ge=0.2, le=0.7)]
    noise: Literal["low", "medium", "high"]
    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    milestones: Milestones

    @model_validator(mode="after")
    def _names_are_legal(self) -> Self:
        for column in self.factors:
            try:
                _NAME.validate_python(column.name)
            except ValidationError as error:
                raise ValueError(f"factors: {column.name!r} is no column name in snake case") from error
            for level in getattr(column, "levels", ()):
                _LEVEL.validate_python(level)
        names = (self.id_column, self.target.column, *(column.name for column in self.factors), *self.target.labels)
        require_unique(names, "names of columns and labels")
        return self

    @model_validator(mode="after")
    def _columns_can_be_drawn(self) -> Self:
        for column in self.factors:
            match column:
                case NumericColumn(low=low, high=high) if high <= low:
                    raise ValueError(f"factors: {column.name} ends at {high}, before it begins")
                case NumericColumn(shape="lognormal", low=low) if low <= 0:
                    raise ValueError(f"factors: {column.name} is lognormal, so its low must be above 0")
                case CategoricalColumn(levels=levels, weights=weights) if (
                    len(levels) != len(weights) or abs(sum(weights) - 1) > NUMBERS_APART or min(weights) <= 0
                ):
                    raise ValueError(f"factors: the weights of {column.name} are one a level, positive, and sum to 1")
                case OrdinalColumn(levels=levels) if len(levels) < 2:
                    raise ValueError(f"factors: {column.name} has fewer than two levels")
                case DateColumn(start=start, end=end) if end <= start:
                    raise ValueError(f"factors: {column.name} ends on {end}, before it begins")
        return self

    @model_validator(mode="after")
    def _problem_fits(self) -> Self:
        if self.problem_type not in PROBLEMS:
            raise ValueError(f"problem_type: choose from {', '.join(PROBLEMS)}")
        n_labels = len(self.target.labels)
        fewest, most = {"binary": (2, 2), "regression": (0, 0)}.get(self.problem_type, (3, 8))
        if not fewest <= n_labels <= most:
            raise ValueError(f"target.labels: {self.problem_type} needs {fewest} to {most} labels, not {n_labels}")
        if self.metric not in (known := metrics_for(self.link, n_labels)):
            raise ValueError(f"metric: choose from {', '.join(known)}")
        wanted = {"multiclass": 2, "multilabel": n_labels}.get(self.problem_type, 1)
        if len(self.signals) != wanted:
            raise ValueError(f"signals: {self.problem_type} needs {wanted}, not {len(self.signals)}")
        shares = {"binary": 1, "multilabel": n_labels, "ordinal": n_labels}.get(self.problem_type, 0)
        if len(self.shares) != shares:
            raise ValueError(f"shares: {self.problem_type} needs {shares}, not {len(self.shares)}")
        if self.problem_type == "ordinal" and abs(sum(self.shares) - 1) > NUMBERS_APART:
            raise ValueError("shares: those of an ordinal target sum to 1")
        return self

    @model_validator(mode="after")
    def _rule_can_be_computed(self) -> Self:
        self.rule()
        return self

    @property
    def link(self) -> Link:
        """The law of the labels."""
        target = self.target
        return link_of(self.problem_type, positive=target.positive, center=target.center or 1.0, spread=target.spread)

    def table(self) -> TableSchema:
        """The factors."""
        return TableSchema(id_column=self.id_column, id_prefix=self.id_prefix, columns=self.factors)

    def rule(self) -> HiddenRule:
        """The hidden rule, in the grammar of all rules.

        Raises:
            ValueError: a formula can't be read; says which and why.
        """
        table, target = self.table(), self.target

        def weighted(terms: tuple[TermDraft, ...]) -> tuple[WeightedTerm, ...]:
            return tuple(WeightedTerm(term=Formula.over(table, term.formula), weight=term.weight) for term in terms)

        return HiddenRule(
            link=self.link,
            signals=tuple(
                Signal(easy=weighted(signal.easy), hidden=weighted(signal.hidden), easy_share=self.easy_share)
                for signal in self.signals
            ),
            noise=NOISE[self.link][("low", "medium", "high").index(self.noise)],
            shares=self.shares,
            center=target.center,
            spread=target.spread if self.link != "lognormal" else round(target.spread / target.center, 4),
        )

    def blueprint(self, modality: Modality) -> Blueprint:
        """The same as the rest of the team knows it."""
        target = self.target
        problem = Problem(
            type=self.problem_type,
            link=self.link,
            metric=self.metric,
            target=target.column,
            title=self.title,
            question=self.question,
            description=target.description,
            labels=target.labels,
            unit=target.unit,
            center=target.center,
            spread=target.spread,
        )
        content = {
            "presentation": self.presentation,
            "mutation": self.mutation,
            "milestones": self.milestones.model_dump(),
        }
        return Blueprint(
            domain=self.setting.slug,
            kind=KINDS[modality],
            problem=problem,
            table=self.table(),
            rule=self.rule(),
            content=content,
            setting=self.setting,
        )
