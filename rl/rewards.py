"""The reward of an episode: a weighted sum of what it achieved, in [0, 1].

    r = format * (share of model replies accepted the first time)
      + exec   * [the graded submission is valid]
      + the weight of each tier (median, bronze, silver, gold) that the score reaches

clamped to [0, 1]. Tiers are inclusive of their threshold and add up: gold earns all four. Only typed grader records
count, never text. Presets:

    paper      SandMLE, arXiv 2604.04872: dense, milestone-based
    released   the weights in the authors' released code, which also leaves out episodes that time out too often
    sparse     the paper's ablation: gold or nothing
    execution  a control: the paper's first two weights as shares, nothing for the score
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from sandmle.errors import BadInput
from sandmle.grades import GradeReport
from sandmle.record import Record
from sandmle.task import TIERS
from sandmle.trajectory import Reward, Turn

__all__ = ["REWARD_PRESETS", "RewardWeights", "get_preset", "score_episode", "too_many_timeouts"]

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class RewardWeights(Record):
    """What each achievement is worth; every weight is finite and >= 0.

    Attributes:
        name: the preset, or a name for your own weights; stands in every reward.
        format: for replies that the scaffold's parser accepts the first time.
        exec: for a valid submission.
        median: for a score that reaches the median threshold; so on for the medals.
        max_timeouts: share of tool calls that may hit the step limit; an episode with a larger one is masked, not
            rewarded. None masks none.
    """

    name: str = Field(default="custom", min_length=1)
    format: Weight = 0.0
    exec: Weight = 0.0
    median: Weight = 0.0
    bronze: Weight = 0.0
    silver: Weight = 0.0
    gold: Weight = 0.0
    max_timeouts: Annotated[float, Field(ge=0, le=1)] | None = None


REWARD_PRESETS: Mapping[str, RewardWeights] = MappingProxyType(
    {
        weights.name: weights
        for weights in (
            RewardWeights(name="paper", format=0.1, exec=0.3, median=0.1, bronze=0.2, silver=0.2, gold=0.1),
            RewardWeights(
                name="released", format=0.1, exec=0.2, median=0.1, bronze=0.4, silver=0.1, gold=0.1, max_timeouts=0.2
            ),
            RewardWeights(name="sparse", format=0.1, gold=0.9),
            RewardWeights(name="execution", format=0.25, exec=0.75),
        )
    }
)


_NO_CALLS = frozenset({"answer", "review"})
"""Kinds of actions that no tool answers."""


def get_preset(name: str) -> RewardWeights:
    """The preset called ``name``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    try:
        return REWARD_PRESETS[name]
    except KeyError:
        raise BadInput(f"unknown reward preset {name!r}; choose from {', '.join(REWARD_PRESETS)}") from None


def too_many_timeouts(turns: Sequence[Turn], weights: RewardWeights) -> str:
    """Why these weights mask an episode of so many timed-out steps, in words; empty if they do not.

    The share is of the actions that a tool answered: runs of code, and what asks for the score or for facts.
    """
    calls = sum(turn.action is not None and turn.action.kind not in _NO_CALLS for turn in turns)
    timed_out = sum(turn.step is not None and turn.step.status == "timeout" for turn in turns)
    if weights.max_timeouts is None or calls == 0 or timed_out / calls <= weights.max_timeouts:
        return ""
    return f"{timed_out} of {calls} tool calls timed out, more than {weights.max_timeouts:.0%}"


def score_episode(turn_format_ok: Sequence[bool], grade: GradeReport | None, weights: RewardWeights) -> Reward:
    """The reward of one episode.

    Args:
        turn_format_ok: for each model reply, whether the parser accepted it the first time; empty earns no format part.
        grade: the grader's record; None earns nothing beyond format.
        weights: a preset or your own.

    Returns:
        The total in [0, 1], and its parts before clamping: ``format``, ``exec`` and one per tier.
    """
    accepted = sum(map(bool, turn_format_ok)) / len(turn_format_ok) if turn_format_ok else 0.0
    parts = {
        "format": weights.format * accepted,
        "exec": weights.exec if grade is not None and grade.valid else 0.0,
    }
    for tier in TIERS:
        parts[tier.value] = getattr(weights, tier.value) if grade is not None and tier in grade.reached else 0.0
    total = math.fsum(min(part, 1.0) for part in parts.values())
    return Reward(preset=weights.name, total=min(total, 1.0), parts=parts)
