"""What an advantage estimator is, and the registry that makes one from its settings.

Rules that hold for every estimator, so that no file can forget them:

- It sees the counted rollouts of one group, so a masked one has no say in the baseline.
- It is given numbers only: a missing or infinite reward is refused, not averaged.
- A lone rollout has no baseline. Its advantages are 0, not its raw reward.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, final

import numpy as np
from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.record import Record, first_problem
from sandmle.rl.types import Floats

__all__ = ["Estimator", "TrajectoryEstimator", "estimator_names", "make_estimator", "register"]


class Estimator(Record):
    """The settings of an estimator, which is also the function.

    Attributes:
        name: as it stands in a training config; each subclass has one and only one.
    """

    name: str

    @final
    def advantages(self, turn_rewards: Sequence[Floats]) -> list[Floats]:
        """The advantage of every turn of the counted rollouts of one group.

        Args:
            turn_rewards: for each rollout what its turns earned, shape (turns,); turns may differ and may be 0.

        Returns:
            For each rollout an array of the same shape, finite.

        Raises:
            ValueError: a reward is no finite number; such a rollout is not counted.
        """
        rewards = [np.asarray(turns, dtype=np.float64) for turns in turn_rewards]
        if not all(np.isfinite(turns).all() for turns in rewards):
            raise ValueError("a reward is no finite number: leave its rollout out of the group")
        return self._estimate(rewards) if len(rewards) > 1 else [np.zeros_like(turns) for turns in rewards]

    @abstractmethod
    def _estimate(self, turn_rewards: Sequence[Floats]) -> list[Floats]:
        """The same for two rollouts or more, whose rewards are finite."""


class TrajectoryEstimator(Estimator):
    """An estimator that gives all turns of a rollout one advantage, by the rollout's whole reward."""

    def _estimate(self, turn_rewards: Sequence[Floats]) -> list[Floats]:
        rewards = np.array([turns.sum() for turns in turn_rewards])
        of_rollouts = self._of_rewards(rewards)
        return [np.full_like(turns, value) for turns, value in zip(turn_rewards, of_rollouts, strict=True)]

    @abstractmethod
    def _of_rewards(self, rewards: Floats) -> Floats:
        """One advantage a rollout from one reward a rollout, shape (n,) with n >= 2."""


E = TypeVar("E", bound=Estimator)
_ESTIMATORS: dict[str, type[Estimator]] = {}


def register(estimator: type[E]) -> type[E]:
    """Make an estimator findable by the default of its field ``name``."""
    name = estimator.model_fields["name"].default
    if name in _ESTIMATORS:
        raise ValueError(f"two estimators are named {name!r}")
    _ESTIMATORS[name] = estimator
    return estimator


def estimator_names() -> tuple[str, ...]:
    """The names of all estimators, sorted."""
    return tuple(sorted(_ESTIMATORS))


def make_estimator(settings: Mapping[str, Any]) -> Estimator:
    """The estimator of a config's table, such as ``{"name": "grpo", "std": "none"}``.

    Raises:
        BadInput: there is none of that name, or a setting does not suit it.
    """
    name = settings.get("name")
    if name not in _ESTIMATORS:
        raise BadInput(f"unknown advantage estimator {name!r}; choose from {', '.join(estimator_names())}")
    try:
        return _ESTIMATORS[name].model_validate(dict(settings))
    except ValidationError as error:
        raise BadInput(f"advantage estimator {name!r}: {first_problem(error)}") from error
