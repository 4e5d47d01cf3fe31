"""REINFORCE leave-one-out: a rollout's reward against the mean of the others.

    A_i = r_i - mean of r_j over j != i  =  n / (n - 1) * (r_i - mean(r))

Ahmadian et al., arXiv 2402.14740. The baseline does not depend on the rollout that it is for, so it adds no bias.
"""

from __future__ import annotations

from typing import Literal

from sandmle.rl.algorithms._estimator import TrajectoryEstimator, register
from sandmle.rl.types import Floats

__all__ = ["Rloo"]


@register
class Rloo(TrajectoryEstimator):
    """Leave-one-out advantages."""

    name: Literal["rloo"] = "rloo"

    def _of_rewards(self, rewards: Floats) -> Floats:
        others: Floats = (rewards.sum() - rewards) / (len(rewards) - 1)
        return rewards - others
