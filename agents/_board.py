"""The ten-row leaderboard that stands in for Kaggle's on a synthetic task (protocol ``dojo``)."""

from __future__ import annotations

import json
import math

from sandmle.errors import BadInput
from sandmle.eval.grading.human_rank import human_rank
from sandmle.task import Task

__all__ = ["board_position", "task_board"]


def task_board(task: Task) -> tuple[float, ...]:
    """Ten scores, best first: gold, silver, two bronze, two median, four of the dummy baseline.

    Raises:
        BadInput: the task has no thresholds, or no calibration that tells the dummy baseline's score.
    """
    thresholds = task.manifest.thresholds
    if thresholds is None:
        raise BadInput(f"{task.root}: protocol dojo needs a task with thresholds; choose --protocol clean")
    path = task.provenance / "calibration.json"
    try:
        dummy = float(json.loads(path.read_bytes())["dummy"])
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; protocol dojo takes the dummy baseline's score from it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: no number under the key 'dummy', which protocol dojo needs") from error
    if not math.isfinite(dummy):
        raise BadInput(f"{path}: the number under the key 'dummy' is not finite")
    upper = (thresholds.gold, thresholds.silver, *[thresholds.bronze] * 2, *[thresholds.median] * 2)
    return (*upper, *[dummy] * 4)


def board_position(score: float, board: tuple[float, ...], *, lower_is_better: bool) -> int:
    """The first 1-based rank whose board score is beaten or tied, else ``len(board) + 1``."""
    return round(len(board) * (1 - human_rank(score, board, lower_is_better=lower_is_better))) + 1
