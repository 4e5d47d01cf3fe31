"""HumanRank: the share of a competition's teams that a score meets or beats (MLE-Dojo, arXiv 2505.07782)."""

from __future__ import annotations

from collections.abc import Sequence

from sandmle.errors import BadInput

__all__ = ["human_rank"]


def human_rank(score: float, board: Sequence[float], *, lower_is_better: bool) -> float:
    """(N - p + 1) / N, in [0, 1], with p the first 1-based rank whose score is beaten or tied, else N + 1.

    A NaN beats and ties nobody, so it ranks 0.

    Args:
        score: the score to rank.
        board: the N scores of a leaderboard, best first.
        lower_is_better: the metric's direction.

    Raises:
        BadInput: the board is empty.
    """
    if not board:
        raise BadInput("a leaderboard needs at least one team")
    sign = -1.0 if lower_is_better else 1.0
    better_teams = (above for above, other in enumerate(board) if sign * score >= sign * other)
    return (len(board) - next(better_teams, len(board))) / len(board)
