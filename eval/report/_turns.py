"""The turn-limit curve: what the same episodes had achieved after so many turns.

An episode's history says from which turn on which submission counted under the protocol, so its state after t turns is
the last one of a turn before t. Prompts name the limit, so an episode that is told of another one may go another way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sandmle.eval.report._cells import tiered
from sandmle.eval.report._record import TurnPoint
from sandmle.eval.runs import EpisodeSummary
from sandmle.trajectory import Chosen

__all__ = ["turn_curve"]


def turn_curve(episodes: Sequence[EpisodeSummary]) -> tuple[TurnPoint, ...]:
    """One point for each limit from 1 to the turns of the longest episode.

    Args:
        episodes: the unmasked ones of a row.

    Returns:
        Nothing where an episode has a valid submission but no history, as in runs of an older sandmle.
    """
    if any(each.grade and each.grade.valid and not each.history for each in episodes):
        return ()
    longest = max((episode.turns for episode in episodes), default=0)
    return tuple(_point(episodes, limit) for limit in range(1, longest + 1))


def _point(episodes: Sequence[EpisodeSummary], limit: int) -> TurnPoint:
    states = [(_after(each, limit), tiered(each)) for each in episodes]
    medals = [state is not None and state.medal is not None for state, has_tiers in states if has_tiers]
    return TurnPoint(
        turns=limit,
        valid=float(np.mean([state is not None for state, _ in states])),
        any_medal=float(np.mean(medals)) if medals else None,
    )


def _after(episode: EpisodeSummary, turns: int) -> Chosen | None:
    """The submission that counts after so many turns."""
    return next((chosen for chosen in reversed(episode.history) if chosen.turn < turns), None)
