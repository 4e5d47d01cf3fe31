"""Forecasting: every row is a window of a series, the target the value of its first channel some steps later.

    z       value of the first channel, minus center, over spread (of its logarithm where it can't be negative)
    target  z = level now + what the pattern of the window makes of it + noise

The levels of the windows differ by ``sqrt(e)`` and their patterns by ``sqrt(1 - e)`` (e the easy share of the rule), so
that the standardised rule continues the series on its own scale. Weights of the easy part are positive: a window that
lies high goes on high.

Vocabulary:
    season    the value at the phase of the target, averaged over the cycles of the window; periods differ
    jump      the last value minus the mean of the three before
    partner   the second channel at the end of the window, against its own mean
    slot      the slot of the operating plan, A to E, into which the target falls
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
from sandmle.agents.procedural.kinds.series import Recorded, recorded_channels, series_brief, series_medium
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import AnyRule, HiddenRule, Part, RuleGrammar, Signal, draw_rule
from sandmle.agents.procedural.rules.main_effects import Linear
from sandmle.agents.procedural.schema import CategoricalColumn, NumericColumn, TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["Forecast", "ForecastContent"]

STEPS = (30, 36, 48)
WIDE = 0.42
"""Spread of the logarithm of a channel that starts near 0."""
SLOTS = ("A", "B", "C", "D", "E")
SHAPES: dict[str, tuple[str, float, float, Literal["normal", "uniform"]]] = {
    "level": ("mean of the window", -2.1, 2.1, "normal"),
    "end": ("last value minus mean", -2.0, 2.0, "normal"),
    "trend": ("change of the fitted line over half of the window", -1.2, 1.2, "normal"),
    "season": ("value at the phase of the target", -1.7, 1.7, "normal"),
    "jump": ("last value minus the mean of the three before", -2.0, 2.0, "normal"),
    "partner": ("the second channel at the end, against its own mean", -1.8, 1.8, "uniform"),
    "period": ("the strongest period", 5.0, 11.0, "uniform"),
}
HIDDEN = ("season", "jump", "partner", "period")
HIDDEN_TERMS = ("gate", "interaction", "level_slope", "sign_agreement")


class ForecastContent(Record):
    """Settings of the templates: steps of a window, steps from its end to the target, and the scale of z."""

    steps: int
    ahead: int
    channels: tuple[Recorded, ...]
    center: float
    spread: float
    log: bool
    category: str = "slot"


@register
class Forecast(TaskKind):
    """A later value of a series."""

    name = "forecast"
    modality = "series"
    problems: ClassVar = {"forecasting": 3}
    rungs: ClassVar = ("dummy", "last_value", "linear", "trees", "blend", "informed")
    unsuited_metrics: ClassVar = ("spearman", "pearson", "concordance", "r2", "median_absolute_error")

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The domain's forecast, where it has series."""
        return super().target(domain, problem) if domain.media.series else None

    def scale(self, domain: Domain, target: Target) -> tuple[float, float, bool]:
        """Of the first channel; one that starts near 0 and is no share spreads evenly on a log scale."""
        channel = series_medium(domain).channels[0]
        width = channel.high - channel.low
        if 0 <= channel.low <= 0.25 * channel.high and channel.unit != "%":
            center = float(f"{channel.low + 0.24 * width:.4g}")
            return center, float(f"{WIDE * center:.4g}"), True
        return float(f"{(channel.low + channel.high) / 2:.4g}"), float(f"{width / 8.5:.4g}"), False

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Readings of a window and the slot of its target."""
        shares = tuple(round(1 / len(SLOTS), 2) for _ in SLOTS)
        slot = CategoricalColumn(name="slot", description="slot of the operating plan", levels=SLOTS, weights=shares)
        columns = tuple(
            NumericColumn(name=name, unit="", description=text, low=low, high=high, shape=shape, decimals=4)
            for name, (text, low, high, shape) in SHAPES.items()
        )
        steps = STEPS[int(rng.integers(len(STEPS)))]
        return Factors(
            table=TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*columns, slot)),
            grammar=RuleGrammar(
                easy=Part(share="easy", count=(1, 2), columns=("end", "trend", "slot")),
                hidden=Part(share="hidden", count=(1, 2), columns=(*HIDDEN, "slot"), kinds=HIDDEN_TERMS),
                easy_share=(0.45, 0.75),
            ),
            content=ForecastContent(
                steps=steps,
                ahead=int(rng.integers(2, 6)),
                channels=recorded_channels(series_medium(domain)),
                center=problem.center,
                spread=round(problem.spread / problem.center, 2) if problem.link == "lognormal" else problem.spread,
                log=problem.link == "lognormal",
            ),
        )

    def draw_rule(self, rng: np.random.Generator, factors: Factors, problem: Problem, dna: StructuralDNA) -> AnyRule:
        """The shared grammar, with the level in the easy part and, mostly, the season in the hidden one."""
        rule = draw_rule(rng, factors.table, factors.grammar, problem, dna)
        (signal,) = rule.signals
        table = {column.name: column for column in factors.table.numeric()}
        level = {"term": Linear(x=table["level"].scaled()), "weight": 1.0}
        season = {"term": Linear(x=table["season"].scaled()), "weight": round(float(rng.uniform(0.6, 1.0)), 2)}
        easy = [level, *({"term": part.term, "weight": round(0.35 * abs(part.weight), 2)} for part in signal.easy)]
        hidden = [*([season] if rng.random() < 0.75 else []), *(part.model_dump() for part in signal.hidden)]
        changed = Signal.model_validate({"easy": easy, "hidden": hidden, "easy_share": signal.easy_share})
        return HiddenRule.model_validate({**rule.model_dump(), "signals": [changed.model_dump()]})

    def brief(self, blueprint: Blueprint) -> Brief:
        """Files of series, horizon and slot."""
        content = ForecastContent.model_validate(dict(blueprint.content))
        medium = series_medium(blueprint.lexicon())
        brief = series_brief(blueprint, content.steps, content.category)
        horizon = (
            f"The target is the value of `{medium.channels[0].name}` {content.ahead} steps after the last recorded one,"
            f" that is at step {content.steps - 1 + content.ahead}."
        )
        slot = PublicColumn(
            content.category,
            f"category: {', '.join(SLOTS)}",
            "Slot of the operating plan into which the target's step falls",
        )
        return Brief(
            item=brief.item,
            columns=(slot, *brief.columns[1:]),
            files=brief.files,
            paragraphs=(*brief.paragraphs, horizon),
        )
