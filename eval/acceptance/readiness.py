"""Is a task ready to train on? The card: how stable its ladder and tiers are, and how hard its medals are to earn.

Vocabulary:
    re-run          one rung fitted anew and scored on a regenerated hidden test set
    adjacent pair   dummy and best generic, or best generic and informed
    intended tier   what a rung is meant to earn: the dummy none (below median); the best generic rung bronze, but not
                    silver; the informed rung gold. Other rungs are meant for nothing in particular
    ideas to gold   with how many cross-validated ideas the public search first earns gold

The thresholds are those that the task was published with; only data and fits are drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from pydantic import Field

from sandmle.eval.acceptance._evidence import DUMMY, INFORMED
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.record import Record, VersionedRecord
from sandmle.task import TIERS, Thresholds, Tier

__all__ = ["Readiness", "Reliability", "assess_readiness", "intended_tiers", "pool_reliability"]

Value = TypeVar("Value")
Scores = Mapping[str, Sequence[float]]


class Reliability(Record):
    """Counts over redrawn hidden tests, so that those of many tasks can be added.

    Attributes:
        tests: redrawn hidden tests.
        pairs: adjacent pairs compared, two a test; ``pairs_in_order`` those whose upper rung scored strictly better on
            the mean of its re-runs.
        reruns: re-runs of the three rungs with an intended tier, by rung; ``intended`` those that landed in it.
        tiers: by rung, the highest tier that each of its re-runs reached, counted; ``none`` below median.
    """

    tests: int
    pairs: int
    pairs_in_order: int
    reruns: dict[str, int]
    intended: dict[str, int]
    tiers: dict[str, dict[str, int]]

    @property
    def order_share(self) -> float | None:
        """Share of adjacent pairs in order; None where none was compared."""
        return self.pairs_in_order / self.pairs if self.pairs else None

    @property
    def tier_share(self) -> float | None:
        """Share of re-runs that landed in their intended tier; None where there was none."""
        total = sum(self.reruns.values())
        return sum(self.intended.values()) / total if total else None


class Readiness(VersionedRecord):
    """``readiness.json``: the RL-readiness card of one task.

    Attributes:
        best_generic: the generic rung that the task was calibrated on.
        reliability: over redrawn hidden tests.
        headroom: by rung, the share of the way from dummy to Bayes that it covers; None where there is no way.
        search: score of the public search by number of ideas, in the metric's own units.
        search_tier: the highest tier of each, ``none`` below median.
        ideas_to_gold: the fewest ideas that earned gold; None where none of those tried did.
    """

    best_generic: str
    reliability: Reliability
    headroom: dict[str, float | None]
    search: dict[int, float] = Field(default_factory=dict)
    search_tier: dict[int, str] = Field(default_factory=dict)
    ideas_to_gold: int | None = None


def intended_tiers(best_generic: str) -> dict[str, Tier | None]:
    """The highest tier that each rung is meant to reach; None is below median."""
    return {DUMMY: None, best_generic: Tier.BRONZE, INFORMED: Tier.GOLD}


def assess_readiness(
    calibration: Calibration, redrawn: Sequence[Scores], search: Mapping[int, float] | None = None
) -> Readiness:
    """The card of one task.

    Args:
        calibration: as the task was published; it must have thresholds.
        redrawn: per redrawn hidden test, each rung's scores in the metric's own units, one a re-run; at least
            ``dummy``, the best generic rung and ``informed``.
        search: number of ideas to the score of the public search.

    Raises:
        ValueError: the calibration has no thresholds, or a rung is missing from a redrawn test.
    """
    if calibration.thresholds is None:
        raise ValueError("a task without thresholds has no tiers to land in")
    scores = dict(sorted((search or {}).items()))
    lower = calibration.lower_is_better
    tiers = {ideas: _tier(calibration.thresholds, score, lower) for ideas, score in scores.items()}
    return Readiness(
        best_generic=calibration.best_generic,
        reliability=_reliability(calibration, calibration.thresholds, redrawn),
        headroom={name: rung.headroom for name, rung in calibration.rungs.items()},
        search=scores,
        search_tier={ideas: _name(tier) for ideas, tier in tiers.items()},
        ideas_to_gold=next((ideas for ideas, tier in tiers.items() if tier is Tier.GOLD), None),
    )


def pool_reliability(parts: Sequence[Reliability]) -> Reliability:
    """The sum of many tasks' counts; generic rungs of different names count as ``generic``."""
    return Reliability(
        tests=sum(part.tests for part in parts),
        pairs=sum(part.pairs for part in parts),
        pairs_in_order=sum(part.pairs_in_order for part in parts),
        reruns=_added([_renamed(part.reruns) for part in parts]),
        intended=_added([_renamed(part.intended) for part in parts]),
        tiers={
            rung: _added([_renamed(part.tiers).get(rung, {}) for part in parts])
            for rung in dict.fromkeys(rung for part in parts for rung in _renamed(part.tiers))
        },
    )


def _reliability(calibration: Calibration, thresholds: Thresholds, redrawn: Sequence[Scores]) -> Reliability:
    wanted = intended_tiers(calibration.best_generic)
    for index, scores in enumerate(redrawn):
        if missing := [name for name in wanted if not scores.get(name)]:
            raise ValueError(f"redrawn test {index}: no scores of the rung(s) {', '.join(missing)}")
    reached = {
        rung: [_tier(thresholds, score, calibration.lower_is_better) for scores in redrawn for score in scores[rung]]
        for rung in wanted
    }
    means = [[calibration.sign * float(np.mean(scores[rung])) for rung in wanted] for scores in redrawn]
    return Reliability(
        tests=len(redrawn),
        pairs=2 * len(redrawn),
        pairs_in_order=sum((dummy < generic) + (generic < informed) for dummy, generic, informed in means),
        reruns={rung: len(found) for rung, found in reached.items()},
        intended={rung: found.count(wanted[rung]) for rung, found in reached.items()},
        tiers={rung: {_name(tier): found.count(tier) for tier in (None, *TIERS)} for rung, found in reached.items()},
    )


def _tier(thresholds: Thresholds, score: float, lower_is_better: bool) -> Tier | None:
    """The highest tier that a score reaches; None below median, and for a score that is not finite."""
    reached = thresholds.reached(score, lower_is_better=lower_is_better) if np.isfinite(score) else ()
    return reached[-1] if reached else None


def _name(tier: Tier | None) -> str:
    return "none" if tier is None else tier.value


def _renamed(by_rung: Mapping[str, Value]) -> dict[str, Value]:
    return {rung if rung in (DUMMY, INFORMED) else "generic": value for rung, value in by_rung.items()}


def _added(tables: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: sum(table.get(name, 0) for table in tables) for name in names}
