"""Medals: from thresholds, and thresholds from a competition's leaderboard by Kaggle's rule.

    teams       gold row            silver row   bronze row
    1-99        10 %                20 %         40 %
    100-249     10                  20 %         40 %
    250-999     10 + 0.2 % (teams)  50           100
    1000-       10 + 0.2 % (teams)  5 %          10 %

Rows are 1-based, floored, at least 1. Source: Kaggle's progression rules, as MLE-bench (arXiv 2410.07095) applies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from sandmle.errors import BadInput
from sandmle.grades import Medal
from sandmle.task import Thresholds, Tier

__all__ = ["MedalRows", "board_lower_is_better", "board_score", "medal_of", "medal_rows", "thresholds_from_leaderboard"]

BOARD_PLACES = 5


class MedalRows(NamedTuple):
    """The 1-based row of a board whose score a medal asks for."""

    gold: int
    silver: int
    bronze: int


def medal_of(score: float, thresholds: Thresholds, *, lower_is_better: bool) -> Medal | None:
    """The best medal whose threshold ``score`` meets or beats; None if it meets none."""
    reached = thresholds.reached(score, lower_is_better=lower_is_better)
    if Tier.GOLD in reached:
        return "gold"
    if Tier.SILVER in reached:
        return "silver"
    return "bronze" if Tier.BRONZE in reached else None


def medal_rows(n_teams: int) -> MedalRows:
    """The rows that earn medals on a board of ``n_teams``.

    Raises:
        BadInput: there are no teams.
    """
    if n_teams < 1:
        raise BadInput("a leaderboard needs at least one team")
    gold = 10 + n_teams * 2 // 1000
    if n_teams < 100:
        rows = (n_teams // 10, n_teams // 5, n_teams * 2 // 5)
    elif n_teams < 250:
        rows = (10, n_teams // 5, n_teams * 2 // 5)
    elif n_teams < 1000:
        rows = (gold, 50, 100)
    else:
        rows = (gold, n_teams // 20, n_teams // 10)
    return MedalRows(*(max(row, 1) for row in rows))


def board_lower_is_better(board: Sequence[float]) -> bool:
    """The direction of a board, best row first: lower is better if its first score is below its last.

    Raises:
        BadInput: the board is empty.
    """
    if not board:
        raise BadInput("a leaderboard needs at least one team")
    return board[0] < board[-1]


def thresholds_from_leaderboard(board: Sequence[float]) -> Thresholds:
    """The thresholds of a competition: its board's medal rows, and the median of all its scores.

    Args:
        board: finite scores in the board's own order, best first. Medals may share one score.

    Raises:
        BadInput: the board is empty or holds a score that is not a finite number.
    """
    rows = medal_rows(len(board))
    try:
        return Thresholds(
            median=median(board),
            bronze=board[rows.bronze - 1],
            silver=board[rows.silver - 1],
            gold=board[rows.gold - 1],
        )
    except ValueError as error:
        raise BadInput("a leaderboard's scores must be finite numbers") from error


def board_score(score: float) -> float:
    """A score as MLE-bench compares it with a board and exports it: rounded to 5 places."""
    return round(score, BOARD_PLACES)
