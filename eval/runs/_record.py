"""``EvalSettings`` (what to run) and ``RunRecord`` (what ``run.json`` holds)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from sandmle.record import Record, VersionedRecord, sha256_json
from sandmle.trajectory import IsolationTier, Price, Protocol

__all__ = ["BudgetSettings", "EvalSettings", "RunRecord", "Scale"]

_NOT_IN_HASH = {"suite", "models", "scaffolds", "repeats"}


class BudgetSettings(Record):
    """What an episode may use where it is not what the task and the scaffold say; names as in ``Budget``.

    Attributes:
        turns: model calls, format repairs included.
        step_seconds: wall seconds of one run of code.
        prompt_tokens: tokens of one prompt.
        tokens: of all prompts and replies together.
        wall_seconds: seconds of the whole episode.
        model_seconds: seconds of one model call, retries included.
    """

    turns: Annotated[int, Field(gt=0)] | None = None
    step_seconds: Annotated[float, Field(gt=0)] | None = None
    prompt_tokens: Annotated[int, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    wall_seconds: Annotated[float, Field(gt=0)] | None = None
    model_seconds: Annotated[float, Field(gt=0)] | None = None

    def __str__(self) -> str:
        """The overrides in words, such as ``turns 5, step_seconds 30``."""
        return ", ".join(f"{name} {value:.15g}" for name, value in self if value is not None) or "the default"


class EvalSettings(VersionedRecord):
    """What an evaluation runs: tasks x scaffolds x models x repeats, under one protocol and one reward.

    How many episodes run at once and the endpoint's key are no settings: they don't shape the result. Its address
    does; ``RunRecord`` holds it.

    Attributes:
        suite: such as ``synthetic:DIR``.
        models: policies by name, such as ``scripted:linear`` or ``openai:NAME``.
        scaffolds: agent loops by name.
        repeats: episodes of each scaffold and model on each task.
        protocol: what the agent learns about its score, and which submission counts.
        reward: name of a reward preset.
        seed: root of every random draw of the run.
        temperature: of the model's sampling; scripted policies don't sample.
        budget: overrides of what an episode may use.
    """

    suite: str
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    scaffolds: Annotated[tuple[str, ...], Field(min_length=1)] = ("react",)
    repeats: Annotated[int, Field(ge=1)] = 1
    protocol: Protocol = "clean"
    reward: str = "paper"
    seed: Annotated[int, Field(ge=0)] = 0
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    budget: BudgetSettings = BudgetSettings()

    @field_validator("models", "scaffolds")
    @classmethod
    def _named_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice; use repeats for more episodes of one model")
        return names

    @property
    def episode_hash(self) -> str:
        """Hex hash of all that shapes a single episode beside its task, scaffold, model and repeat."""
        return sha256_json(self.model_dump(mode="json", exclude=_NOT_IN_HASH))


class Scale(Record):
    """Two scores on a task's Private rows, in the metric's own units: the dummy's, and the best that anyone can get."""

    dummy: float
    bayes: float

    def headroom(self, score: float) -> float:
        """(score - dummy) / (bayes - dummy): 0 for the dummy, 1 for Bayes, whatever the metric's direction."""
        return (score - self.dummy) / (self.bayes - self.dummy)


class RunRecord(VersionedRecord):
    """``run.json``.

    Attributes:
        tasks: content hash of every task, by id.
        scales: of the tasks whose Bayes score is known, by id; none in runs of an older sandmle.
        ranked: ids of the tasks with leaderboards; none in runs of an older sandmle.
        prices: of the models whose tokens have a known price, by name; what a resumption says anew wins.
        versions: of Python and of the libraries that shape results, when the run began.
        isolation: the tier that this machine proved when the run began.
        endpoint: address of the model's endpoint, without credentials.
    """

    settings: EvalSettings
    tasks: dict[str, str]
    versions: dict[str, str]
    isolation: IsolationTier
    endpoint: str | None = None
    scales: dict[str, Scale] = Field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    prices: dict[str, Price] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_tasks(self) -> Self:
        if not self.tasks:
            raise ValueError("a run needs at least one task")
        return self

    @property
    def expected(self) -> int:
        """How many episodes the whole run has."""
        settings = self.settings
        return len(self.tasks) * len(settings.scaffolds) * len(settings.models) * settings.repeats

    def first_difference(self, asked: RunRecord) -> str | None:
        """How ``asked`` differs from this run in what must stay the same, in words; None if it is a resumption.

        That is the tasks, the settings, the endpoint's address and the version of sandmle. The suite's path may differ
        as long as its tasks are the same, and ``repeats`` may grow.
        """
        if self.tasks != asked.tasks:
            return _task_difference(self.tasks, asked.tasks)
        for name in EvalSettings.model_fields:
            ours, theirs = getattr(self.settings, name), getattr(asked.settings, name)
            grown = name == "repeats" and theirs > ours
            if name != "suite" and ours != theirs and not grown:
                return f"{name} was {_shown(ours)}, now {_shown(theirs)}"
        if self.endpoint != asked.endpoint:
            return f"the endpoint was {_shown(self.endpoint)}, now {_shown(asked.endpoint)}"
        ours, theirs = self.versions.get("sandmle"), asked.versions.get("sandmle")
        return None if ours == theirs else f"sandmle was {_shown(ours)}, now {_shown(theirs)}"

    def resumed_as(self, asked: RunRecord) -> RunRecord:
        """This record with what a resumption may change: repeats, scales, boards and prices."""
        settings = self.settings.model_copy(update={"repeats": asked.settings.repeats})
        known = {"scales": asked.scales, "ranked": asked.ranked, "prices": self.prices | asked.prices}
        return self.model_copy(update={"settings": settings, **known})


def _shown(value: object) -> str:
    if value is None:
        return "the default"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _task_difference(old: dict[str, str], new: dict[str, str]) -> str:
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            return f"task {name} is gone from the suite"
        if name not in old:
            return f"task {name} is new in the suite"
        if old[name] != new[name]:
            return f"task {name} has changed"
    raise AssertionError("no difference")
