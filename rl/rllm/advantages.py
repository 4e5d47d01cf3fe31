"""Our advantage estimators in rLLM's trainer; needs rLLM.

rLLM's own differ: a group of one gets its raw reward as advantage, and there is one advantage for a whole trajectory.
Ours come in as advantages that were computed beforehand, which every backend of rLLM takes where
``rllm.algorithm.use_precomputed_advantage`` is set. Groups are rLLM's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rllm.trainer.algorithms.transform import _default_traj_grouping_hook

from sandmle.rl.algorithms import Estimator

__all__ = ["OurAdvantages"]


@dataclass(frozen=True)
class OurAdvantages:
    """Groups trajectories as rLLM does and computes the advantage of each step; a ``traj_grouping_hook``."""

    estimator: Estimator

    def __call__(self, episodes: Any, transform: Any, filtering: Any = None) -> Any:
        """The groups that rLLM makes of ``episodes``, with advantages."""
        groups = _default_traj_grouping_hook(episodes, transform, filtering)
        for group in groups:
            earned = [np.array([step.reward for step in each.steps]) for each in group.trajectories]
            for trajectory, of_steps in zip(group.trajectories, self.estimator.advantages(earned), strict=True):
                for step, advantage in zip(trajectory.steps, of_steps.tolist(), strict=True):
                    step.advantage = advantage
        return groups
