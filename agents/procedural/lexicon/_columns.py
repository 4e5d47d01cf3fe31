"""The columns a domain knows: name, unit, plausible values and line in the data dictionary of each."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sandmle.agents.procedural.lexicon._words import Decimals, Levels, Name, Text, require_room
from sandmle.record import Record

__all__ = ["CategoricalColumn", "DateColumn", "IdColumn", "NumericColumn", "OrdinalColumn"]


class IdColumn(Record):
    """The column that names an entity; ``prefix`` starts each of its values."""

    column: Name
    prefix: Annotated[str, Field(pattern=r"^[A-Z]{1,4}$")]


class NumericColumn(Record):
    """A measured quantity.

    Attributes:
        label: the name in running text.
        unit: unit of the values, empty for counts, indices and ratios without one.
        low: lower end of the plausible range; above 0 for ``lognormal``.
        high: upper end of the plausible range.
        shape: how values spread over the range.
        decimals: digits after the point in the data, 0 to 3.
        description: the line of the data dictionary.
    """

    name: Name
    label: Text
    unit: str
    low: Annotated[float, Field(allow_inf_nan=False)]
    high: Annotated[float, Field(allow_inf_nan=False)]
    shape: Literal["normal", "uniform", "lognormal"]
    decimals: Decimals
    description: Text

    @model_validator(mode="after")
    def _range_is_sane(self) -> Self:
        require_room(self.name, self.low, self.high, self.decimals)
        if self.shape == "lognormal" and self.low <= 0:
            raise ValueError(f"{self.name}: a lognormal column needs low > 0")
        return self


class CategoricalColumn(Record):
    """A column of unordered levels (4 to 20 of them)."""

    name: Name
    levels: Annotated[Levels, Field(min_length=4, max_length=20)]
    description: Text


class OrdinalColumn(Record):
    """A column of 3 to 5 levels in ascending order."""

    name: Name
    levels: Annotated[Levels, Field(min_length=3, max_length=5)]
    description: Text


class DateColumn(Record):
    """A day between ``start`` and ``end``, both included."""

    name: Name
    start: date
    end: date
    description: Text

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.end - self.start).days < 90:
            raise ValueError(f"{self.name}: needs a span of at least 90 days")
        return self
