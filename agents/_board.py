"""The ten-row leaderboard that stands in for Kaggle's on a synthetic task (protocol ``dojo``)."""

from __future__ import annotations

from sandmle.errors import BadInput
from sandmle.eval.acceptance import Calibration
from sandmle.eval.grading.human_rank import human_rank
from sandmle.task import Task

__all__ = ["board_position", "task_board"]


def task_board(task: Task) -> tuple[float, ...]:
    """Ten scores, best first: gold, silver, two bronze, two median, four of the dummy baseline.

    Raises:
        BadInput: the task has no thresholds, or its calibration can't be read.
    """
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
