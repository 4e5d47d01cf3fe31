"""Step-wise GRPO: a turn's return against the same turn of the other rollouts.

    G_it = sum over k >= t of gamma^(k - t) r_ik
    A_it = (G_it - mean(G_t)) / (std(G_t) + eps),  over the rollouts that have a turn t

This is rLLM's ``per_step`` mode: the estimator of ``grpo`` on groups of one task and one index of turn. A turn that
only one rollout reached has no baseline: its advantage is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from sandmle.rl.algorithms._estimator import Estimator, register
from sandmle.rl.algorithms._normalize import EPS, Std, normalize
from sandmle.rl.types import Floats

__all__ = ["StepWise"]


@register
class StepWise(Estimator):
    """Advantages a turn.

    Attributes:
        gamma: discount a turn, in (0, 1]; below 1, early turns of a late success earn less.
        std: what the distance from the mean is divided by.
        eps: added to it.
    """

    name: Literal["step-wise"] = "step-wise"
    gamma: Annotated[float, Field(gt=0, le=1)] = 1.0
    std: Std = "population"
    eps: Annotated[float, Field(gt=0, allow_inf_nan=False)] = EPS

    def _estimate(self, turn_rewards: Sequence[Floats]) -> list[Floats]:
        returns = [self._returns(rewards) for rewards in turn_rewards]
        found = [np.zeros_like(each) for each in returns]
        for turn in range(max(map(len, returns))):
            there = [index for index, each in enumerate(returns) if len(each) > turn]
            if len(there) > 1:
                values = normalize(np.array([returns[index][turn] for index in there]), self.std, self.eps)
                for index, value in zip(there, values, strict=True):
                    found[index][turn] = value
        return found

    def _returns(self, rewards: Floats) -> Floats:
        """Discounted sums from each turn to the last."""
        found = np.zeros_like(rewards)
        ahead = 0.0
        for turn in reversed(range(len(rewards))):
            ahead = rewards[turn] + self.gamma * ahead
            found[turn] = ahead
        return found
