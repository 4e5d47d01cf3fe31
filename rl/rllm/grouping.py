"""Groups in rLLM's trainer, with our advantages on the embedded backend; needs rLLM.

Groups are rLLM's own. Two things are added to them:

- A fault that only the user can mend ends the training; rLLM takes every exception of a rollout for bad luck.
- Our advantages, where there is an estimator. rLLM's differ: a group of one gets its raw reward, and there is one
  advantage for a whole trajectory. Ours come in as advantages that were computed beforehand
  (``rllm.algorithm.use_precomputed_advantage``), which only our embedded backend learns from: rLLM makes a list of
  tokens of each, and its verl backend takes one number a trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rllm.trainer.algorithms.transform import _default_traj_grouping_hook

from sandmle.errors import EnvironmentProblem
from sandmle.rl.algorithms import Estimator
from sandmle.rl.rllm.episodes import fault_of

__all__ = ["Grouping"]


@dataclass(frozen=True)
class Grouping:
    """A ``traj_grouping_hook``; without an estimator advantages are left to rLLM."""

    estimator: Estimator | None = None

    def __call__(self, episodes: Any, transform: Any, filtering: Any = None) -> Any:
        """The groups that rLLM makes of ``episodes``.

        Raises:
            EnvironmentProblem: the user must change something before any episode can be played.
        """
        for episode in episodes:
            if (fault := fault_of(episode)) is not None:
                raise EnvironmentProblem(fault)
        groups = _default_traj_grouping_hook(episodes, transform, filtering)
        if self.estimator is not None:
            for group in groups:
                _give_advantages(group, self.estimator)
        return groups


def _give_advantages(group: Any, estimator: Estimator) -> None:
    earned = [np.array([step.reward for step in each.steps]) for each in group.trajectories]
    for trajectory, of_steps in zip(group.trajectories, estimator.advantages(earned), strict=True):
        for step, advantage in zip(trajectory.steps, of_steps.tolist(), strict=True):
            step.advantage = advantage
