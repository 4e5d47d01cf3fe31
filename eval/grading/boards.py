"""A competition's leaderboards: what a score is worth among the teams that took part.

A task that comes from a competition keeps them in ``provenance/boards.json``. Its scores are compared with thresholds
rounded to the five places that boards have, as MLE-bench does.
"""

from __future__ import annotations

from sandmle.eval.grading.human_rank import human_rank
from sandmle.eval.grading.medals import board_score, medal_of
from sandmle.grades import GradeReport
from sandmle.record import VersionedRecord
from sandmle.task import Task

__all__ = ["BOARDS", "Boards", "read_boards", "with_boards"]

BOARDS = "boards.json"


class Boards(VersionedRecord):
    """The scores of a competition's teams, best first, finite; empty where a board is not known."""

    public: tuple[float, ...] = ()
    private: tuple[float, ...] = ()


def read_boards(task: Task) -> Boards | None:
    """The boards of a task; None where it has none.

    Raises:
        BadInput: the file is broken.
    """
    path = task.provenance / BOARDS
    return Boards.read(path) if path.is_file() else None


def with_boards(report: GradeReport, boards: Boards) -> GradeReport:
    """``report`` with medal and tiers by the rounded score, and the mean HumanRank over the boards that are known."""
    if report.score is None:
        return report
    score, lower, thresholds = board_score(report.score), report.lower_is_better, report.thresholds
    ranks = [human_rank(score, board, lower_is_better=lower) for board in (boards.public, boards.private) if board]
    found: dict[str, object] = {"human_rank": sum(ranks) / len(ranks) if ranks else None}
    if thresholds is not None:
        found |= {
            "medal": medal_of(score, thresholds, lower_is_better=lower),
            "above_median": score < thresholds.median if lower else score > thresholds.median,
            "reached": thresholds.reached(score, lower_is_better=lower),
        }
    return report.model_copy(update=found)
