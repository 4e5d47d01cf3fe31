"""A domain: one world that a synthetic task may be set in, and the checks that reach over several of its parts."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from sandmle.agents.procedural.lexicon._columns import (
    CategoricalColumn,
    DateColumn,
    IdColumn,
    NumericColumn,
    OrdinalColumn,
)
from sandmle.agents.procedural.lexicon._media import Media
from sandmle.agents.procedural.lexicon._setting import Setting
from sandmle.agents.procedural.lexicon._targets import Targets
from sandmle.agents.procedural.lexicon._words import Name, Text, require_unique

__all__ = ["Domain"]


class Domain(Setting):
    """One world that a synthetic task may be set in; ``slug`` is the name of its YAML file.

    Attributes:
        groups: one or two lists of 3 to 4 numeric columns with a plausible common cause.
        related: ids and terms of seeds that this domain resembles.
        media: what the domain can show besides a table.
    """

    id: IdColumn
    numeric: Annotated[tuple[NumericColumn, ...], Field(min_length=12, max_length=16)]
    groups: Annotated[tuple[tuple[Name, ...], ...], Field(min_length=1, max_length=2)]
    categorical: Annotated[tuple[CategoricalColumn, ...], Field(min_length=4, max_length=6)]
    ordinal: Annotated[tuple[OrdinalColumn, ...], Field(min_length=2, max_length=2)]
    dates: Annotated[tuple[DateColumn, ...], Field(min_length=1, max_length=1)]
    targets: Targets
    related: Annotated[tuple[Text, ...], Field(min_length=1)]
    media: Media

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        group, labels = self.targets.ranking.group, self.targets.multilabel.labels
        targets = (target.column for target in self.targets.all())
        names = (self.id.column, group.column, *self.feature_names, *targets, *labels, *self.media.column_names)
        require_unique(names, "column names")
        if group.prefix == self.id.prefix:
            raise ValueError(f"targets.ranking.group: prefix {self.id.prefix} is that of the id")
        return self

    @model_validator(mode="after")
    def _groups_name_columns(self) -> Self:
        members = [name for group in self.groups for name in group]
        self._require_numeric("groups", members)
        if len(set(members)) != len(members) or any(not 3 <= len(group) <= 4 for group in self.groups):
            raise ValueError("groups: each has 3 or 4 columns, and a column is in at most one")
        return self

    @model_validator(mode="after")
    def _one_wide_categorical(self) -> Self:
        if sum(len(column.levels) > 10 for column in self.categorical) > 1:
            raise ValueError("categorical: at most one column may have more than 10 levels")
        return self

    @model_validator(mode="after")
    def _targets_have_their_medium(self) -> Self:
        image, series, forecast = self.media.image, self.media.series, self.targets.forecast
        if (self.targets.segmentation is None) != (image is None):
            raise ValueError("targets.segmentation: goes with media.image; have both or neither")
        if (forecast is None) != (series is None):
            raise ValueError("targets.forecast: goes with media.series; have both or neither")
        if forecast and series and forecast.unit != series.channels[0].unit:
            raise ValueError(f"targets.forecast: unit must be that of the first channel, {series.channels[0].unit!r}")
        return self

    @model_validator(mode="after")
    def _graph_features_exist(self) -> Self:
        if self.media.graph:
            shared = [feature for feature in self.media.graph.features if isinstance(feature, str)]
            self._require_numeric("media.graph.features", shared)
        return self

    def _require_numeric(self, where: str, names: list[str]) -> None:
        unknown = sorted(set(names) - {column.name for column in self.numeric})
        if unknown:
            raise ValueError(f"{where}: no such numeric column: {', '.join(unknown)}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all columns that can be features, in the order of the lexicon."""
        columns: tuple[NumericColumn | CategoricalColumn | OrdinalColumn | DateColumn, ...]
        columns = (*self.numeric, *self.categorical, *self.ordinal, *self.dates)
        return tuple(column.name for column in columns)
