"""Rejection sampling: the best rollouts of a group are imitated, the others left alone.

    A_i = 1 where r_i = max(r) > min(r), else 0        (but for rounding)

With one gradient step a batch the ratio of the policy loss is 1, so its gradient is that of the likelihood of the rows
that were kept: reward-ranked fine-tuning (RAFT, arXiv 2304.06767) on the samples that GRPO would have had.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sandmle.rl.algorithms._estimator import TrajectoryEstimator, register
from sandmle.rl.types import Floats

__all__ = ["BestOf"]

ROUNDING = 1e-9
"""Rewards that differ by no more are alike: they are sums of parts."""


@register
class BestOf(TrajectoryEstimator):
    """Advantages of 1 for the best of a group; none where all are alike."""

    name: Literal["best-of"] = "best-of"

    def _of_rewards(self, rewards: Floats) -> Floats:
        best = rewards.max() - ROUNDING
        return np.where((rewards >= best) & (best > rewards.min()), 1.0, 0.0)
