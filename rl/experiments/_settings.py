"""``ExperimentSettings``: an experiment, as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sandmle.record import Record, sha256_json
from sandmle.rl.config_files import bundled_names, load_settings
from sandmle.rl.experiments._costs import CostName
from sandmle.rl.trainer import TrainSettings

__all__ = [
    "IMITATION",
    "ArmSettings",
    "ExperimentSettings",
    "MatchSettings",
    "SetName",
    "TaskSettings",
    "bundled_experiments",
    "merged",
]

IMITATION = "imitation"
"""The folder, beside those of a seed's arms, of the imitation that all of them start from."""
SetName = Literal["same", "other", "unseen"]
Positive = Annotated[int, Field(gt=0)]


class TaskSettings(Record):
    """The tasks of an experiment: tables by the procedural team.

    Attributes:
        seeds: what the tasks of training come from; those of ``other_seeds`` are of families that it never sees.
        n: slots made from ``seeds``; ``n_other`` from ``other_seeds``.
        batch_seed: of both batches. It is not the seed of a training: all trainings share their tasks.
        train: most tasks to train on; ``same``, ``other`` and ``unseen`` the most of each held-out set.
        constants: scripts that are tried on every task, as the parts of ``scripted:mix`` joined by ``/``.
    """

    seeds: Annotated[tuple[str, ...], Field(min_length=1)]
    other_seeds: Annotated[tuple[str, ...], Field(min_length=1)]
    n: Positive = 80
    n_other: Positive = 32
    batch_seed: Annotated[int, Field(ge=0)] = 0
    train: Positive = 32
    same: Positive = 22
    other: Positive = 22
    unseen: Positive = 22
    constants: Annotated[tuple[str, ...], Field(min_length=1)]


class ArmSettings(Record):
    """One arm.

    Attributes:
        name: of its folder too, and so not ``imitation``.
        source: ``imitation`` is the policy before rewards, ``training`` one that is trained, ``constant`` the constant
            script that does best on training tasks.
        of: measure this arm's policy in place of one of its own.
        change: what its training differs in: tables of a training config, merged into ``train``.
        temperatures: the one that does best on training tasks is measured in place of 1.
        brief: ``other`` shows the policy the brief of another task of the set.
        control: left out unless controls are asked for.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    source: Literal["imitation", "training", "constant"] = "training"
    of: str | None = None
    change: dict[str, Any] = Field(default_factory=dict)
    temperatures: tuple[Annotated[float, Field(gt=0)], ...] = ()
    brief: Literal["own", "other"] = "own"
    control: bool = False

    @field_validator("name")
    @classmethod
    def _has_its_own_folder(cls, name: str) -> str:
        if name == IMITATION:
            raise ValueError(f"{IMITATION!r} is the folder of what all arms start from; give the arm another name")
        return name

    @property
    def trains(self) -> bool:
        """Whether it has a training of its own."""
        return self.source == "training" and self.of is None


class MatchSettings(Record):
    """Trained arms go on until each has used at least as much as one of them.

    Attributes:
        arm: the one that makes exactly the updates of ``train.grpo``.
        costs: what must be reached. Seconds are not the same in every run: with them, neither is the number of updates.
        at_most: the most updates, as a multiple of that arm's.
    """

    arm: str
    costs: Annotated[tuple[CostName, ...], Field(min_length=1)] = ("tokens", "sandbox_runs")
    at_most: Annotated[float, Field(ge=1)] = 2.0


class ExperimentSettings(Record):
    """An experiment.

    Attributes:
        seeds: one training of each arm a seed; arms are paired by seed and task.
        tasks: how they are made and divided.
        demonstrations: episodes of ``scripted:mix`` on each training task.
        train: what all trained arms share; its tasks and demonstrations are the experiment's.
        match: makes trained arms comparable in what they use; without it all make the same updates.
        samples: episodes on each held-out task at temperature 1; one more is greedy.
        baseline: the arm that all others are compared with.
    """

    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0,)
    tasks: TaskSettings
    demonstrations: Positive = 24
    train: TrainSettings
    match: MatchSettings | None = None
    samples: Positive = 8
    baseline: str = "sft"
    arms: Annotated[tuple[ArmSettings, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _arms_fit(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError("two arms have one name")
        if self.baseline not in names:
            raise ValueError(f"baseline {self.baseline!r} is no arm")
        if self.train.sft is None or self.train.grpo is None:
            raise ValueError("train needs [train.sft] and [train.grpo]")
        for place, arm in enumerate(self.arms):
            if arm.of is not None and arm.of not in names[:place]:
                raise ValueError(f"arm {arm.name!r} is of {arm.of!r}, which is no arm before it")
            if arm.change and not arm.trains:
                raise ValueError(f"arm {arm.name!r} changes a training but has none of its own")
            merged(self.train, arm.change)
        if self.match is not None:
            self._match_works(self.match)
        return self

    def _match_works(self, match: MatchSettings) -> None:
        trained = [arm for arm in self.arms if arm.trains]
        if match.arm not in {arm.name for arm in trained}:
            raise ValueError(f"match.arm {match.arm!r} is no arm that trains")
        for grpo in (merged(self.train, arm.change).grpo for arm in trained):
            if grpo is not None and (grpo.optimizer.decay or grpo.optimizer.warmup):
                raise ValueError("match lets trainings grow: their learning rate must be level (no decay, no warmup)")

    @property
    def identity(self) -> str:
        """Hex hash of all settings but the seeds and the arms, which may grow."""
        return sha256_json(self.model_dump(mode="json", exclude={"seeds", "arms"}))

    @classmethod
    def load(cls, name: str, changes: Mapping[str, object] | None = None) -> Self:
        """Read an experiment by its path, or by the name of a bundled one; ``changes`` replace fields of it.

        Raises:
            BadInput: there is none, it is no experiment, or values can't be used; names each, one a line.
        """
        return load_settings(cls, name, "experiment", changes)


def merged(settings: TrainSettings, change: Mapping[str, Any]) -> TrainSettings:
    """``settings`` with the tables of ``change`` merged in.

    Raises:
        ValueError: what comes out is no training config.
    """
    return TrainSettings.model_validate(_merged(settings.model_dump(), change))


def _merged(base: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for name, value in change.items():
        nested = isinstance(value, Mapping) and isinstance(out.get(name), dict) and name != "estimator"
        out[name] = _merged(out[name], value) if nested else value
    return out


def bundled_experiments() -> tuple[str, ...]:
    """The names of the experiments that come with sandmle."""
    return bundled_names("experiment")
