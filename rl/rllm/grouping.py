"""Groups in rLLM's trainer, with our advantages on the embedded backend; needs rLLM.

Groups are rLLM's own. Three things are added to them:

- A fault that only the user can mend ends the training; rLLM takes every exception of a rollout for bad luck.
- A batch of which no episode came through ends it too; rLLM would count the update and go on to the end.
- Our advantages, where there is an estimator. rLLM has one advantage for a whole trajectory. Ours come in as advantages
  that were computed beforehand (``rllm.algorithm.use_precomputed_advantage``), which only our embedded backend learns
  from: rLLM makes a list of tokens of each, and its verl backend takes one number a trajectory.

rLLM itself drops groups of which fewer than two episodes are left (``rllm.rejection_sample.min_trajs_per_group``): to
one alone it would give its raw reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rllm.trainer.algorithms.transform import _default_traj_grouping_hook

from sandmle.errors import EnvironmentProblem
from sandmle.rl.algorithms import Estimator
from sandmle.rl.rllm.episodes import fault_of
from sandmle.rl.rllm.records import TERMINATION_REASONS
from sandmle.rl.rllm.trouble import nothing_came_through
from sandmle.trajectory import MASKED_STATUSES

__all__ = ["Grouping", "give_advantages"]

_MASKED = {TERMINATION_REASONS[status] for status in MASKED_STATUSES}


@dataclass(frozen=True)
class Grouping:
    """A ``traj_grouping_hook``.

    Attributes:
        estimator: of the advantages; None leaves them to rLLM.
        validated: ids of tasks that nothing is learnt from, whose episodes may all be masked.
    """

    estimator: Estimator | None = None
    validated: frozenset[str] = frozenset()

    def __call__(self, episodes: Any, transform: Any, filtering: Any = None) -> Any:
        """The groups that rLLM makes of ``episodes``.

        Raises:
            EnvironmentProblem: the user must change something before any episode can be played, or all are masked.
        """
        for episode in episodes:
            if (fault := fault_of(episode)) is not None:
                raise EnvironmentProblem(fault)
        _refuse_all_masked([episode for episode in episodes if episode.task_id not in self.validated])
        groups = _default_traj_grouping_hook(episodes, transform, filtering)
        if self.estimator is not None:
            for group in groups:
                give_advantages(group.trajectories, self.estimator)
        return groups


def _refuse_all_masked(episodes: Sequence[Any]) -> None:
    if not episodes or any(episode.termination_reason.value not in _MASKED for episode in episodes):
        return
    told = Counter(episode.info.get("status") or episode.termination_reason.value for episode in episodes)
    raise nothing_came_through(told)


def give_advantages(trajectories: Sequence[Any], estimator: Estimator) -> None:
    """Put our advantages into the steps of the trajectories of one group of rLLM's."""
    earned = [np.array([step.reward for step in each.steps]) for each in trajectories]
    for trajectory, of_steps in zip(trajectories, estimator.advantages(earned), strict=True):
        for step, advantage in zip(trajectory.steps, of_steps.tolist(), strict=True):
            step.advantage = advantage
