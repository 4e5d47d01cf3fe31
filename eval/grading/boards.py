"""A competition's leaderboards: what a score is worth among the teams that took part.

A task that comes from a competition keeps them in ``provenance/boards.json``. MLE-bench rounds a score to the five
places of its boards before it is compared; MLE-Dojo does not.
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
    """The scores of a competition's teams, best first, finite; empty where a board is not known.

    Attributes:
        rounded: whether a score is rounded to five places before it is compared.
    """

    public: tuple[float, ...] = ()
    private: tuple[float, ...] = ()
    rounded: bool = True

    @property
    def known(self) -> dict[str, tuple[float, ...]]:
        """The boards that are known, by name."""
        named = {"public": self.public, "private": self.private}
        return {name: board for name, board in named.items() if board}

    def comparable(self, score: float) -> float:
        """``score`` as it is compared with a board."""
        return board_score(score) if self.rounded else score


def read_boards(task: Task) -> Boards | None:
    """The boards of a task; None where it has none.

    Raises:
        BadInput: the file is broken.
    """
    path = task.provenance / BOARDS
    return Boards.read(path) if path.is_file() else None


def with_boards(report: GradeReport, boards: Boards) -> GradeReport:
    """``report`` with medal and tiers by its comparable score, and the mean HumanRank over the known boards."""
    if report.score is None:
        return report
    score, lower, thresholds = boards.comparable(report.score), report.lower_is_better, report.thresholds
    ranks = [human_rank(score, board, lower_is_better=lower) for board in boards.known.values()]
    found: dict[str, object] = {"human_rank": sum(ranks) / len(ranks) if ranks else None}
    if thresholds is not None:
        found |= {
            "medal": medal_of(score, thresholds, lower_is_better=lower),
            "above_median": score < thresholds.median if lower else score > thresholds.median,
            "reached": thresholds.reached(score, lower_is_better=lower),
        }
    return report.model_copy(update=found)
