"""Series: every item is a short multichannel recording, and its label follows from the shape of the curves.

Vocabulary:
    plain     level, spread, trend and end of one channel: summary statistics show them
    hidden    period, phase, delay between channels, change point, ...: the order of the values shows them, no summary

Factors are computed from the recorded (rounded) values by the same code in the generator and in the informed baseline.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, PublicFile, TaskKind, register
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.lexicon import SeriesMedium as Medium
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import CategoricalColumn, NumericColumn, TableSchema
from sandmle.errors import SandmleError
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = [
    "Reading",
    "Recorded",
    "Series",
    "SeriesContent",
    "draw_category",
    "recorded_channels",
    "series_brief",
    "series_medium",
]

STEPS = (32, 40, 48, 60)
MAX_LAG = 6
HIDDEN_TERMS = (
    "band",
    "difference",
    "extreme",
    "gate",
    "interaction",
    "level_optimum",
    "level_slope",
    "optimum",
    "sign_agreement",
)
How = Literal[
    "mean",
    "spread",
    "trend",
    "end",
    "period",
    "cycle_end",
    "peaks",
    "longest_run",
    "rise_share",
    "echo",
    "change_point",
    "delay",
    "together",
]
PLAIN: tuple[How, ...] = ("mean", "spread", "trend", "end")
HIDDEN: tuple[How, ...] = ("period", "cycle_end", "peaks", "longest_run", "rise_share", "echo")
PAIRED: tuple[How, ...] = ("delay", "together")


class Recorded(Record):
    """One channel: values are recorded in [low, high] with ``decimals``; ``unit_step`` is one spread of its curves."""

    name: str
    low: float
    high: float
    decimals: int
    middle: float
    unit_step: float


class Reading(Record):
    """One factor: ``how`` it is read, from which channels, and at which lag."""

    name: str
    how: How
    channel: int
    other: int = 0
    lag: int = 0


class SeriesContent(Record):
    """Settings of the templates; ``category`` is the column of train.csv and test.csv beside the series."""

    steps: int
    channels: tuple[Recorded, ...]
    readings: tuple[Reading, ...]
    category: str
    max_lag: int = MAX_LAG


@register
class Series(TaskKind):
    """Classes and numbers of whole series."""

    name = "series"
    modality = "series"
    problems: ClassVar = {"binary": 3, "multiclass": 2, "regression": 2, "ordinal": 2}

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """As everywhere, where the domain has series."""
        return super().target(domain, problem) if domain.media.series else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Readings of the channels and one category."""
        channels = recorded_channels(series_medium(domain))
        steps = STEPS[int(rng.integers(len(STEPS)))]
        readings = _draw_readings(rng, channels)
        category = draw_category(rng, domain)
        numeric = tuple(_column(reading, channels, steps) for reading in readings)
        plain = tuple(reading.name for reading in readings if reading.how in PLAIN)
        hidden = tuple(reading.name for reading in readings if reading.how not in PLAIN)
        return Factors(
            table=TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*numeric, category)),
            grammar=RuleGrammar(
                easy=Part(share="easy", count=(2, 3), columns=(*plain, category.name)),
                hidden=Part(share="hidden", count=(1, 2), columns=(*hidden, category.name), kinds=HIDDEN_TERMS),
                easy_share=(0.3, 0.6),
            ),
            content=SeriesContent(steps=steps, channels=channels, readings=readings, category=category.name),
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """Files of series, their channels and the category."""
        content = SeriesContent.model_validate(dict(blueprint.content))
        return series_brief(blueprint, content.steps, content.category)


def series_medium(domain: Domain) -> Medium:
    """The domain's words for a series."""
    if domain.media.series is None:
        raise SandmleError(f"the domain {domain.slug} has no series")
    return domain.media.series


def recorded_channels(medium: Medium) -> tuple[Recorded, ...]:
    """The channels of a medium with at most six significant digits; seven spreads fill the range."""
    return tuple(
        Recorded(
            name=channel.name,
            low=channel.low,
            high=channel.high,
            decimals=max(min(channel.decimals, 6 - len(str(int(abs(channel.high))))), 0),
            middle=float(f"{(channel.low + channel.high) / 2:.6g}"),
            unit_step=float(f"{(channel.high - channel.low) / 7:.6g}"),
        )
        for channel in medium.channels
    )


def draw_category(rng: np.random.Generator, domain: Domain) -> CategoricalColumn:
    """A category of the domain with few levels, about equally frequent."""
    entries = [entry for entry in domain.categorical if len(entry.levels) <= 6]
    entry = entries[int(rng.integers(len(entries)))]
    share = round(1 / len(entry.levels), 4)
    weights = (*[share] * (len(entry.levels) - 1), round(1 - share * (len(entry.levels) - 1), 4))
    return CategoricalColumn(name=entry.name, description=entry.description, levels=entry.levels, weights=weights)


def series_brief(blueprint: Blueprint, steps: int, category: str) -> Brief:
    """What every task on series says of its files."""
    domain = blueprint.lexicon()
    medium = series_medium(domain)
    (column,) = (column for column in blueprint.table.categorical() if column.name == category)
    file = "train_series.csv"
    return Brief(
        item=(domain.entity, domain.entities),
        columns=(
            PublicColumn(column.name, f"category: {', '.join(column.levels)}", column.description),
            PublicColumn("step", "number", f"Number of the {medium.step}, from 0 to {steps - 1}", file),
            *(
                PublicColumn(
                    channel.name, f"number ({channel.unit})" if channel.unit else "number", channel.description, file
                )
                for channel in medium.channels
            ),
        ),
        files=(
            PublicFile("train_series.csv", f"{medium.description}, for the rows of `train.csv`"),
            PublicFile("test_series.csv", "the same for the rows of `test.csv`"),
        ),
        paragraphs=(
            f"Each row comes with {medium.subject}, recorded by {medium.source}: {steps} rows of the series file,"
            f" one for each {medium.step}, that carry its `{blueprint.table.id_column}`.",
        ),
    )


def _draw_readings(rng: np.random.Generator, channels: tuple[Recorded, ...]) -> tuple[Reading, ...]:
    """Five or six plain readings, and four hidden ones of different kinds."""
    plain = [(how, index) for how in PLAIN for index in range(len(channels))]
    chosen = [plain[int(index)] for index in rng.permutation(len(plain))[: int(rng.integers(5, 7))]]
    kinds: list[How] = [*HIDDEN, "change_point", *PAIRED]
    for index in rng.permutation(len(kinds))[:4]:
        last = len(channels) - 1
        channel = {"change_point": last, "delay": 0, "together": 0}.get(kinds[int(index)], int(rng.integers(last + 1)))
        chosen.append((kinds[int(index)], channel))
    return tuple(_reading(rng, how, channel, channels) for how, channel in chosen)


def _reading(rng: np.random.Generator, how: How, channel: int, channels: tuple[Recorded, ...]) -> Reading:
    name = f"{channels[channel].name}_{how}"
    if how in PAIRED:
        return Reading(name=f"{name}_{channels[1].name}", how=how, channel=channel, other=1)
    lag = int(rng.integers(4, 9)) if how == "echo" else 0
    return Reading(name=name, how=how, channel=channel, lag=lag)


def _column(reading: Reading, channels: tuple[Recorded, ...], steps: int) -> NumericColumn:
    """The reading as a column that the rule may read: about the range of its values."""
    recorded = channels[reading.channel]
    unit = recorded.unit_step
    low, high = {
        "mean": (recorded.middle - 2.4 * unit, recorded.middle + 2.4 * unit),
        "spread": (0.2 * unit, 1.1 * unit),
        "trend": (-2.4 * unit, 2.4 * unit),
        "end": (-2.4 * unit, 2.4 * unit),
        "period": (4.0, 14.0),
        "cycle_end": (0.0, 1.0),
        "peaks": (0.095 * steps, 0.2 * steps),
        "longest_run": (3.0, 9.0),
        "rise_share": (0.25, 0.75),
        "echo": (-0.75, 0.55),
        "change_point": (0.1, 0.9),
        "delay": (-float(MAX_LAG), float(MAX_LAG)),
        "together": (0.25, 0.75),
    }[reading.how]
    shape: Literal["normal", "uniform"] = "normal" if reading.how in ("mean", "trend", "end") else "uniform"
    return NumericColumn(
        name=reading.name,
        unit="",
        description=f"{reading.how} of {recorded.name}",
        low=float(f"{low:.6g}"),
        high=float(f"{high:.6g}"),
        shape=shape,
        decimals=4,
    )
