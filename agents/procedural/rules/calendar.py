"""Hidden terms in which the calendar or the rank of an ordered category decides what another column does."""

from __future__ import annotations

from typing import Any, Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register
from sandmle.agents.procedural.rules.levels import halves
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["LevelPair", "MonthHalf", "OrdinalMatch", "OrdinalSlope", "SeasonalSlope"]


@register
class SeasonalSlope(Term):
    """The effect of a column follows a yearly wave of a date."""

    share = "hidden"
    kind: Literal["seasonal_slope"] = "seasonal_slope"
    x: Scaled
    column: str
    peak_month: int

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.column)

    def source(self) -> str:
        month = f'pd.to_datetime(df["{self.column}"]).dt.month.to_numpy(float)'
        return f"np.cos(2 * np.pi * ({month} - {self.peak_month}) / 12) * {self.x.source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} * yearly wave of {self.column} with its peak in month {self.peak_month}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        date, numeric = pick(rng, schema.dates(), 1), pick(rng, schema.numeric(), 1)
        if not date or not numeric:
            return None
        return cls(x=numeric[0].scaled(), column=date[0].name, peak_month=int(rng.integers(1, 13)))


@register
class MonthHalf(Term):
    """A column counts the other way round in the second half of every month."""

    share = "hidden"
    kind: Literal["month_half"] = "month_half"
    x: Scaled
    column: str

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.column)

    def source(self) -> str:
        day = f'pd.to_datetime(df["{self.column}"]).dt.day.to_numpy()'
        return f"np.where({day} <= 15, 1.0, -1.0) * {self.x.source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} with a plus up to day 15 of the month of {self.column}, else with a minus"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        date, numeric = pick(rng, schema.dates(), 1), pick(rng, schema.numeric(), 1)
        return cls(x=numeric[0].scaled(), column=date[0].name) if date and numeric else None


class _WithOrdinal(Term):
    """A numeric column beside an ordered one."""

    share = "hidden"
    x: Scaled
    by: str
    levels: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.by)

    def rank_source(self) -> str:
        """The centered rank of the ordered column; shape (n,)."""
        return f'df["{self.by}"].map({_centered(self.levels)!r}).to_numpy(float)'

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        numeric, ordinal = pick(rng, schema.numeric(), 1), pick(rng, schema.ordinal(), 1)
        if not numeric or not ordinal:
            return None
        drawn: dict[str, Any] = {"x": numeric[0].scaled(), "by": ordinal[0].name, "levels": ordinal[0].levels}
        return cls(**drawn)


@register
class OrdinalSlope(_WithOrdinal):
    """The effect of a column grows from negative to positive with the rank of an ordered one."""

    kind: Literal["ordinal_slope"] = "ordinal_slope"

    def source(self) -> str:
        return f"{self.x.source()} * {self.rank_source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} * centered rank of {self.by}"


@register
class OrdinalMatch(_WithOrdinal):
    """Whether a column is as high as the rank of an ordered one lets expect."""

    kind: Literal["ordinal_match"] = "ordinal_match"

    def source(self) -> str:
        return f"np.abs({self.x.source()} - {self.rank_source()})"

    def readable(self) -> str:
        return f"|{self.x.readable()} - standardised rank of {self.by}|"


@register
class LevelPair(Term):
    """Whether the levels of two categorical columns belong together."""

    share = "hidden"
    kind: Literal["level_pair"] = "level_pair"
    left: str
    right: str
    left_signs: dict[str, float]
    right_signs: dict[str, float]

    def columns(self) -> tuple[str, ...]:
        return (self.left, self.right)

    def source(self) -> str:
        sides = ((self.left, self.left_signs), (self.right, self.right_signs))
        return " * ".join(f'df["{name}"].map({signs!r}).to_numpy(float)' for name, signs in sides)

    def readable(self) -> str:
        return f"sign of {self.left} {self.left_signs} * sign of {self.right} {self.right_signs}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, tuple(column for column in schema.categorical() if len(column.levels) <= 8), 2)
        if not chosen:
            return None
        left, right = chosen
        return cls(
            left=left.name,
            right=right.name,
            left_signs=halves(rng, left.levels),
            right_signs=halves(rng, right.levels),
        )


def _centered(levels: tuple[str, ...]) -> dict[str, float]:
    """Ranks as numbers from -1.4 to 1.4, about unit spread."""
    last = len(levels) - 1
    return {level: round(2.8 * rank / last - 1.4, 3) for rank, level in enumerate(levels)}
