"""GRPO over whole trajectories: a rollout's reward against the mean of its group, over the group's spread.

    A_i = (r_i - mean(r)) / (std(r) + eps)

DeepSeekMath, arXiv 2402.03300, section 4.1.2, with outcome supervision; ``std = "none"`` is Dr. GRPO, arXiv 2503.20783.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sandmle.rl.algorithms._estimator import TrajectoryEstimator, register
from sandmle.rl.algorithms._normalize import EPS, Std, normalize
from sandmle.rl.types import Floats

__all__ = ["Grpo"]


@register
class Grpo(TrajectoryEstimator):
    """Group-relative advantages.

    Attributes:
        std: what the distance from the mean is divided by.
        eps: added to it.
    """

    name: Literal["grpo"] = "grpo"
    std: Std = "population"
    eps: Annotated[float, Field(gt=0, allow_inf_nan=False)] = EPS

    def _of_rewards(self, rewards: Floats) -> Floats:
        return normalize(rewards, self.std, self.eps)
