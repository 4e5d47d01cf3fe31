"""The leaderboards that protocol ``dojo`` tells an agent's rank on.

A competition's own where a task has them; else ten rows made of thresholds and dummy stand in for them.
"""

from __future__ import annotations

from sandmle.errors import BadInput
from sandmle.eval.acceptance import stand_in_board
from sandmle.eval.grading.boards import Boards, read_boards
from sandmle.eval.grading.human_rank import human_rank
from sandmle.task import Task

__all__ = ["board_position", "task_boards", "tell_rank"]


def task_boards(task: Task) -> Boards:
    """The boards of a competition's task; else one private board stands in for them, ``stand_in_board``.

    Raises:
        BadInput: the task has neither boards nor thresholds, or the record of its baselines can't be read.
    """
    boards = read_boards(task)
    if boards is not None and boards.known:
        return boards
    if task.manifest.thresholds is None:
        raise BadInput(f"{task.root}: protocol dojo needs a task with boards or thresholds; choose --protocol clean")
    return Boards(private=stand_in_board(task), rounded=False)


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
