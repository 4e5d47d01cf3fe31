"""The leaderboard of protocol ``dojo``: a competition's own, or ten rows that stand in for it on a synthetic task."""

from __future__ import annotations

from sandmle.errors import BadInput
from sandmle.eval.acceptance import Calibration
from sandmle.eval.grading.boards import read_boards
from sandmle.eval.grading.human_rank import human_rank
from sandmle.task import Task

__all__ = ["board_position", "task_board"]


def task_board(task: Task) -> tuple[float, ...]:
    """The scores of a board, best first; without one: gold, silver, two bronze, two median, four of the dummy baseline.

    Raises:
        BadInput: the task has no thresholds, or its calibration can't be read.
    """
    if boards := read_boards(task):
        return boards.private or boards.public
    thresholds = task.manifest.thresholds
    if thresholds is None:
        raise BadInput(f"{task.root}: protocol dojo needs a task with thresholds; choose --protocol clean")
    calibration = Calibration.read(task.provenance / "calibration.json")
    dummy = calibration.sign * calibration.dummy
    upper = (thresholds.gold, thresholds.silver, *[thresholds.bronze] * 2, *[thresholds.median] * 2)
    return (*upper, *[dummy] * 4)


def board_position(score: float, board: tuple[float, ...], *, lower_is_better: bool) -> int:
    """The first 1-based rank whose board score is beaten or tied, else ``len(board) + 1``."""
    return round(len(board) * (1 - human_rank(score, board, lower_is_better=lower_is_better))) + 1
