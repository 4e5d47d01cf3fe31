"""How the runner drives any scaffold: the agent loop around a model.

A scaffold is found by its name; it lives in a module of ``sandmle.graphs`` that calls ``register``, so adding one is
adding a file (and its name to ``_MODULES``). It gets a chat model, a session and a budget, and returns how the episode
went. It never sees the grade.

    recorder: list[Turn] = []
    outcome = await get_scaffold("react").rollout(model, session, budget, recorder=recorder)

What the runner can rely on:

- ``recorder`` holds every finished turn at any moment, so turns survive errors and cancellation.
- Statuses come back in the outcome, ``model_timeout`` and ``infra_error`` (an ``InfraError`` of endpoint or sandbox)
  included. What needs the user (``BadInput``, ``EnvironmentProblem``: wrong key, unknown model) and faults of our own
  are raised; so is cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from langchain_core.language_models import BaseChatModel

from sandmle.agents.session import AgentSession
from sandmle.errors import BadInput
from sandmle.task import Task
from sandmle.trajectory import EpisodeStatus, Turn

__all__ = ["Budget", "Outcome", "Scaffold", "get_scaffold", "register", "scaffold_names"]

_MODULES = {
    "aide": "sandmle.graphs.aide",
    "mle-agent": "sandmle.graphs.mle_agent",
    "react": "sandmle.graphs.react",
}
_SCAFFOLDS: dict[str, Scaffold] = {}


@dataclass(frozen=True)
class Budget:
    """What one episode may use.

    Attributes:
        turns: model calls, format repairs included.
        step_seconds: wall seconds of one run of code; the runner opens the session with it.
        prompt_tokens: tokens of one prompt, as far as they can be told without the model's tokenizer.
        tokens: of all prompts and replies together as the endpoint counts them, looked at before each call; None for no
            limit.
        wall_seconds: seconds of the whole episode in the model and in the agent's code, looked at before each turn; a
            running step is let finish. Waiting for the endpoint's pace or for a core is not counted.
        model_seconds: seconds of one model call, retries included, the endpoint's pace not.
    """

    turns: int = 20
    step_seconds: float = 90.0
    prompt_tokens: int = 32_768
    tokens: int | None = None
    wall_seconds: float = 3_600.0
    model_seconds: float = 600.0

    def __post_init__(self) -> None:
        """Refuse what can't work.

        Raises:
            BadInput: a value is not positive.
        """
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise BadInput(f"budget: {name} must be positive, not {value}")

    @classmethod
    def for_task(cls, task: Task) -> Budget:
        """The budget that the task's own limits ask for: an hour, or more if all turns may use their whole steps."""
        limits = task.manifest.limits
        wall = max(cls.wall_seconds, limits.turns * limits.step_seconds)
        return cls(turns=limits.turns, step_seconds=limits.step_seconds, wall_seconds=wall)


@dataclass(frozen=True)
class Outcome:
    """How a rollout ended.

    Attributes:
        reason: more about the status in words, empty where there is no more to say.
        pruned: observations and replies that were left out of later prompts to fit the context.
        journal: the scaffold's own record of the episode as JSON; empty where it keeps none.
    """

    status: EpisodeStatus
    reason: str = ""
    turns: tuple[Turn, ...] = ()
    pruned: int = 0
    journal: str = ""


class Scaffold(Protocol):
    """An agent loop."""

    @property
    def name(self) -> str:
        """As users write it, such as ``react``."""
        ...

    async def rollout(
        self, model: BaseChatModel, session: AgentSession, budget: Budget, *, recorder: list[Turn]
    ) -> Outcome:
        """Let ``model`` act in ``session`` until it is done or its budget is.

        Args:
            model: the policy's chat model.
            session: the tools; the caller closes it.
            budget: what the episode may use.
            recorder: an empty list that receives each turn when it is finished.

        Raises:
            BadInput: the user must change something, such as the model's name.
            EnvironmentProblem: the same for the machine or the endpoint, such as a refused key.
        """
        ...


def register(scaffold: Scaffold) -> Scaffold:
    """Make ``scaffold`` findable by its name."""
    _SCAFFOLDS[scaffold.name] = scaffold
    return scaffold


def scaffold_names() -> tuple[str, ...]:
    """The names of all scaffolds, sorted."""
    return tuple(sorted(_MODULES))


def get_scaffold(name: str) -> Scaffold:
    """The scaffold called ``name``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    if name not in _MODULES:
        raise BadInput(f"unknown scaffold {name!r}; choose from {', '.join(scaffold_names())}")
    import_module(_MODULES[name])
    return _SCAFFOLDS[name]
