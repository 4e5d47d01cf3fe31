"""What the scores themselves say, in numbers that can be averaged over metrics of any sign and direction.

Vocabulary:
unit          of a task: its Bayes score less its dummy's where they are known, else its gold threshold less its
              median's; negative where lower scores are better, so that a difference over it is better as larger
headroom      (score - dummy) / (bayes - dummy); a worse score than the dummy's counts as 0, so that one wild
              submission does not outweigh all others, and so does no valid submission
overfit gap   (score on the Public rows - score on the Private rows) / unit of the submission that counts, cut to
              [-1, 1]. Over many tasks it is above 0 where an agent chose by what it was told of the Public rows;
              that of a single task is mostly the luck of its split
HumanRank     see ``sandmle.eval.grading.human_rank``; no valid submission counts as 0 where the task has boards
"""

from __future__ import annotations

from collections.abc import Iterable

from sandmle.eval.report._cells import Cell
from sandmle.eval.runs import EpisodeSummary

__all__ = ["headrooms", "human_ranks", "overfit_gaps", "ranked_tasks", "unit_of"]

Groups = dict[str, list[float]]
"""Values by task hash."""


def unit_of(cell: Cell, episode: EpisodeSummary) -> float | None:
    """The unit of the episode's task; None where nothing is known to measure with."""
    scale = cell.scales.get(episode.task_hash)
    if scale is not None:
        return scale.bayes - scale.dummy
    thresholds = episode.grade.thresholds if episode.grade else None
    return (thresholds.gold - thresholds.median or None) if thresholds else None


def headrooms(cell: Cell) -> Groups:
    """The headroom of every counted episode on tasks whose Bayes score is known."""

    def value(episode: EpisodeSummary) -> float:
        score = episode.grade.score if episode.grade else None
        return 0.0 if score is None else max(cell.scales[episode.task_hash].headroom(score), 0.0)

    return cell.values(value, lambda episode: episode.task_hash in cell.scales)


def overfit_gaps(cell: Cell) -> Groups:
    """The overfit gap of every counted episode whose submission has both scores, on tasks with a unit."""
    found: dict[str, float] = {}
    for episode in cell.counted:
        unit, grade = unit_of(cell, episode), episode.grade
        if unit and grade and grade.score is not None and grade.public_score is not None:
            found[episode.id] = min(max((grade.public_score - grade.score) / unit, -1.0), 1.0)
    return cell.values(lambda episode: found[episode.id], lambda episode: episode.id in found)


def ranked_tasks(cells: Iterable[Cell]) -> frozenset[str]:
    """Hashes of the tasks with leaderboards, by what the runs say and, in older ones, by any graded submission."""
    rows = list(cells)
    episodes = (episode for cell in rows for episode in cell.counted)
    shown = frozenset(each.task_hash for each in episodes if each.grade and each.grade.human_rank is not None)
    return shown.union(*(cell.ranked for cell in rows))


def human_ranks(cell: Cell, ranked: frozenset[str]) -> Groups:
    """The HumanRank of every counted episode on the ``ranked`` tasks."""

    def value(episode: EpisodeSummary) -> float:
        rank = episode.grade.human_rank if episode.grade else None
        return 0.0 if rank is None else rank

    return cell.values(value, lambda episode: episode.task_hash in ranked)
