"""The leaderboards that protocol ``dojo`` tells an agent's rank on.

A competition's own where a task has them; else ten rows made of thresholds and dummy stand in for them.
"""

from __future__ import annotations

from sandmle.errors import BadInput
from sandmle.eval.acceptance import Calibration
from sandmle.eval.grading.boards import Boards, read_boards
from sandmle.eval.grading.human_rank import human_rank
from sandmle.task import Task

__all__ = ["board_position", "task_boards", "tell_rank"]


def task_boards(task: Task) -> Boards:
    """The boards of a competition's task; a synthetic task's one board is its private one.

    That holds ten scores, best first: gold, silver, two bronze, two median, four of the dummy baseline.

    Raises:
        BadInput: the task has neither boards nor thresholds, or its calibration can't be read.
    """
    boards, thresholds = read_boards(task), task.manifest.thresholds
    if boards is not None and boards.known:
        return boards
    if thresholds is None:
        raise BadInput(f"{task.root}: protocol dojo needs a task with boards or thresholds; choose --protocol clean")
    calibration = Calibration.read(task.provenance / "calibration.json")
    dummy = calibration.sign * calibration.dummy
    upper = (thresholds.gold, thresholds.silver, *[thresholds.bronze] * 2, *[thresholds.median] * 2)
    return Boards(private=(*upper, *[dummy] * 4), rounded=False)


def tell_rank(score: float, boards: Boards, *, lower_is_better: bool) -> str:
    """The position of ``score`` on each board, in words."""
    places = {
        name: (board_position(boards.comparable(score), board, lower_is_better=lower_is_better), len(board))
        for name, board in boards.known.items()
    }
    named = len(places) > 1
    return ", ".join(
        f"position {place} of {teams} on the {f'{name} ' if named else ''}board"
        for name, (place, teams) in places.items()
    )


def board_position(score: float, board: tuple[float, ...], *, lower_is_better: bool) -> int:
    """The first 1-based rank whose board score is beaten or tied, else ``len(board) + 1``."""
    return round(len(board) * (1 - human_rank(score, board, lower_is_better=lower_is_better))) + 1
