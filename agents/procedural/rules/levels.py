"""Hidden terms in which the level of a categorical column, or the calendar, decides."""

from __future__ import annotations

from typing import Literal, Self

from sandmle.agents.procedural.rules._term import Generator, Term, pick, register
from sandmle.agents.procedural.schema import Scaled, TableSchema

__all__ = ["HiddenGroup", "LevelOptimum", "LevelSlope", "Season", "Weekday", "halves"]


@register
class LevelSlope(Term):
    """A column whose effect changes its sign with the level of another."""

    share = "hidden"
    kind: Literal["level_slope"] = "level_slope"
    x: Scaled
    by: str
    signs: dict[str, float]

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.by)

    def source(self) -> str:
        return f'{self.x.source()} * df["{self.by}"].map({self.signs!r}).to_numpy(float)'

    def readable(self) -> str:
        return f"{self.x.readable()} * sign of {self.by} {self.signs}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        numeric, level = pick(rng, schema.numeric(), 1), pick(rng, schema.categorical(), 1)
        if not numeric or not level:
            return None
        return cls(x=numeric[0].scaled(), by=level[0].name, signs=halves(rng, level[0].levels))


@register
class LevelOptimum(Term):
    """The distance from a best value that differs from level to level."""

    share = "hidden"
    kind: Literal["level_optimum"] = "level_optimum"
    x: Scaled
    by: str
    best: dict[str, float]

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.by)

    def source(self) -> str:
        return f'np.abs({self.x.source()} - df["{self.by}"].map({self.best!r}).to_numpy(float))'

    def readable(self) -> str:
        return f"|{self.x.readable()} - best value of {self.by} {self.best}|"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        numeric = pick(rng, schema.numeric(), 1)
        level = pick(rng, tuple(c for c in schema.categorical() if len(c.levels) <= 6), 1)
        if not numeric or not level:
            return None
        best = {name: 0.9 * sign for name, sign in halves(rng, level[0].levels).items()}
        return cls(x=numeric[0].scaled(), by=level[0].name, best=best)


@register
class HiddenGroup(Term):
    """Levels of a column with many levels fall into two groups that no column names."""

    share = "hidden"
    kind: Literal["hidden_group"] = "hidden_group"
    column: str
    members: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def source(self) -> str:
        return f'df["{self.column}"].isin({list(self.members)!r}).to_numpy(float)'

    def readable(self) -> str:
        return f"[{self.column} in {', '.join(self.members)}]"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, tuple(c for c in schema.categorical() if len(c.levels) >= 8), 1)
        if not chosen:
            return None
        positive = tuple(level for level, sign in halves(rng, chosen[0].levels).items() if sign > 0)
        return cls(column=chosen[0].name, members=positive)


@register
class Season(Term):
    """A yearly wave of a date column."""

    share = "hidden"
    kind: Literal["season"] = "season"
    column: str
    peak_month: int

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def source(self) -> str:
        month = f'pd.to_datetime(df["{self.column}"]).dt.month.to_numpy(float)'
        return f"np.cos(2 * np.pi * ({month} - {self.peak_month}) / 12)"

    def readable(self) -> str:
        return f"yearly wave of {self.column} with its peak in month {self.peak_month}"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        chosen = pick(rng, schema.dates(), 1)
        return cls(column=chosen[0].name, peak_month=int(rng.integers(1, 13))) if chosen else None


@register
class Weekday(Term):
    """A column counts only on some days of the week, and the other way round on the others."""

    share = "hidden"
    kind: Literal["weekday"] = "weekday"
    x: Scaled
    column: str
    days: tuple[int, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.x.column, self.column)

    def source(self) -> str:
        day = f'pd.to_datetime(df["{self.column}"]).dt.day_of_week.isin({list(self.days)!r}).to_numpy()'
        return f"np.where({day}, 1.0, -1.0) * {self.x.source()}"

    def readable(self) -> str:
        return f"{self.x.readable()} with a plus on weekdays {self.days} of {self.column}, else with a minus"

    @classmethod
    def draw(cls, rng: Generator, schema: TableSchema) -> Self | None:
        date, numeric = pick(rng, schema.dates(), 1), pick(rng, schema.numeric(), 1)
        if not date or not numeric:
            return None
        start = int(rng.integers(0, 7))
        days = tuple(sorted((start + offset) % 7 for offset in range(3)))
        return cls(x=numeric[0].scaled(), column=date[0].name, days=days)


def halves(rng: Generator, levels: tuple[str, ...]) -> dict[str, float]:
    """+1 for a random half of the levels, -1 for the other."""
    chosen = {int(index) for index in rng.permutation(len(levels))[: (len(levels) + 1) // 2]}
    return {level: 1.0 if index in chosen else -1.0 for index, level in enumerate(levels)}
