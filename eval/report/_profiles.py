"""Performance profiles and the area under them (AUP), over the rows of one report.

Dolan and Moré (2002) compare solvers by the ratio r of a solver's cost on a problem to the best solver's, and draw the
share of problems on which it is within a factor of the best. MLGym (arXiv 2502.14499, after Roberts et al. 2022) does
so with raw scores and takes the area under the profile over log r. A ratio of raw scores means nothing where a metric
can be 0 or negative, and moves when a metric is shifted. Here the ratio is that of exp(score / unit of the task), and

    gap          log r = (best score on the task - score) / unit, >= 0; infinite without a valid submission
    profile(x)   mean over tasks of the share of a row's episodes with gap <= x
    AUP          integral of profile(x) from 0 to 1 = mean over tasks of the mean of max(0, 1 - gap), in [0, 1]

which no change of sign, direction, scale or origin of a metric moves. For the unit see ``_scores``: it is the way from
dummy to Bayes, or from median to gold. 1 says that every episode equals the best of the task, 0 that all are a whole
unit behind. The best is the best valid submission of any episode of the report's measured rows; policies that were
handed the hidden rule have no profile. Only tasks count that two measured rows or more have played: on any other a row
is its own best. The AUP is relative: more rows, another AUP.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sandmle.eval.report._cells import Cell
from sandmle.eval.report._scores import Groups, unit_of

__all__ = ["area", "gaps_to_best", "profile"]


def gaps_to_best(cells: Sequence[Cell]) -> list[Groups]:
    """For each cell, the gaps of its counted episodes by task hash; empty for privileged cells.

    Only of tasks that two measured cells or more have played: elsewhere there is nothing to compare.
    """
    placed = [{} if cell.privileged else _places(cell) for cell in cells]
    played = Counter(name for places in placed for name in places)
    best = {
        name: max(max(places[name]) for places in placed if name in places) for name, rows in played.items() if rows > 1
    }
    return [_behind(places, best) for places in placed]


def _behind(places: Groups, best: dict[str, float]) -> Groups:
    return {
        name: [best[name] - place if np.isfinite(place) else np.inf for place in found]
        for name, found in places.items()
        if name in best
    }


def _places(cell: Cell) -> Groups:
    """Of every counted episode on tasks with a unit: score / unit; minus infinity without a valid submission."""
    found: dict[str, float] = {}
    for episode in cell.counted:
        unit, score = unit_of(cell, episode), episode.grade.score if episode.grade else None
        if unit:
            found[episode.id] = -np.inf if score is None else score / unit
    return cell.values(lambda episode: found[episode.id], lambda episode: episode.id in found)


def area(gaps: Groups) -> float | None:
    """The AUP of a row from its gaps; None where it has none."""
    shares = [np.mean(np.maximum(1.0 - np.asarray(gaps[name]), 0.0)) for name in sorted(gaps)]
    return float(np.mean(shares)) if shares else None


def profile(gaps: Groups, at: Sequence[float]) -> tuple[float, ...]:
    """The profile of a row at some gaps."""
    return tuple(float(np.mean([np.mean(np.asarray(found) <= x) for found in gaps.values()])) for x in at)
