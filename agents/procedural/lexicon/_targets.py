"""What a competition in a domain may ask for: one target of each problem type; a task uses one and knows no other."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from sandmle.agents.procedural.lexicon._columns import IdColumn
from sandmle.agents.procedural.lexicon._words import Decimals, DictionaryLine, Levels, Name, Names, Question, Text
from sandmle.record import Record

__all__ = [
    "BinaryTarget",
    "ForecastTarget",
    "LinkTarget",
    "MulticlassTarget",
    "MultilabelTarget",
    "OrdinalTarget",
    "RankedTogether",
    "RankingTarget",
    "RegressionTarget",
    "ScoreTarget",
    "SegmentationTarget",
    "Target",
    "Targets",
]


class Target(Record):
    """What every competition says about what it asks for.

    Attributes:
        column: the target's name in the data.
        title: the competition's title.
        question: the task in one sentence.
        description: the line of the data dictionary.
    """

    column: Name
    title: Annotated[Text, Field(max_length=70)]
    question: Question
    description: DictionaryLine


class BinaryTarget(Target):
    """Two labels, the negative one first."""

    labels: Annotated[Levels, Field(min_length=2, max_length=2)]


class MulticlassTarget(Target):
    """Three to five labels, ascending where ``ordered``."""

    labels: Annotated[Levels, Field(min_length=3, max_length=5)]
    ordered: bool


class RegressionTarget(Target):
    """A number: about ``center`` plus or minus ``spread`` (one standard deviation), in ``unit``.

    ``positive`` targets can't be negative; their center lies at least 2 spreads above 0.
    """

    unit: str
    center: Annotated[float, Field(allow_inf_nan=False)]
    spread: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    positive: bool
    decimals: Decimals

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.positive and self.center < 2 * self.spread:
            raise ValueError(f"{self.column}: a positive target needs center >= 2 * spread")
        if self.spread < 10 * 10.0**-self.decimals:
            raise ValueError(f"{self.column}: spread is too small for {self.decimals} decimals")
        return self


class MultilabelTarget(Target):
    """Four to six labels, any of which may apply to one entity; they name columns, so they are snake case."""

    labels: Annotated[Names, Field(min_length=4, max_length=6)]


class OrdinalTarget(Target):
    """Four or five labels in ascending order."""

    labels: Annotated[Levels, Field(min_length=4, max_length=5)]


class RankedTogether(IdColumn):
    """The column that says which rows are ranked together: its values are ``prefix`` and a number."""

    description: DictionaryLine


class RankingTarget(Target):
    """A relevance of 0, 1, 2 or 3 that orders the entities of one ``group``."""

    group: RankedTogether


class SegmentationTarget(Target):
    """The pixels of the domain's image that the question asks for."""


class ForecastTarget(Target):
    """A later value of the first channel of the domain's series, in that channel's ``unit``."""

    unit: str


class LinkTarget(Target):
    """Whether two nodes of the domain's graph are connected."""


class ScoreTarget(Target):
    """A number that says how two texts stand to each other."""


class Targets(Record):
    """One target of each problem type; ``segmentation`` goes with an image, ``forecast`` with a series."""

    binary: BinaryTarget
    multiclass: MulticlassTarget
    regression: RegressionTarget
    multilabel: MultilabelTarget
    ordinal: OrdinalTarget
    ranking: RankingTarget
    segmentation: SegmentationTarget | None = None
    forecast: ForecastTarget | None = None

    def all(self) -> tuple[Target, ...]:
        """Every target that the domain has."""
        found = (getattr(self, kind) for kind in type(self).model_fields)
        return tuple(target for target in found if target is not None)
