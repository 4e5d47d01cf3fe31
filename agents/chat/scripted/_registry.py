"""The scripted policies by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from sandmle.errors import BadInput
from sandmle.task import Task

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["ScriptedPolicy", "get_scripted", "register", "scripted_names"]

_NAMES = ("dummy", "linear", "gbdt", "best", "search-1", "search-4", "search-16", "search", "mix", "informed")
_POLICIES: dict[str, ScriptedPolicy] = {}


@dataclass(frozen=True)
class ScriptedPolicy:
    """One scripted policy.

    Attributes:
        name: without the prefix ``scripted:``.
        thought: what the policy says it does.
        ladder: names of the script templates it tries, each after the one before has failed.
        handed: the code that a privileged policy is handed for a task, tried before the ladder; None for the others.
    """

    name: str
    thought: str
    ladder: tuple[str, ...]
    handed: Callable[[Task], str] | None = None

    @property
    def privileged(self) -> bool:
        """Whether it is handed the hidden rule."""
        return self.handed is not None

    def model(self, *, task: Task | None, seed: int) -> BaseChatModel:
        """The chat model.

        Raises:
            BadInput: the policy is privileged and ``task`` is None or has no rule to hand over.
        """
        from sandmle.agents.chat.scripted._model import ScriptedChat

        handed = ""
        if self.handed is not None:
            if task is None:
                raise BadInput(f"scripted:{self.name} is handed the hidden rule of a task, so it needs one")
            handed = self.handed(task)
        return ScriptedChat(
            name=f"scripted:{self.name}", thought=self.thought, ladder=self.ladder, handed=handed, seed=seed
        )


def register(policy: ScriptedPolicy) -> ScriptedPolicy:
    """Make ``policy`` findable by its name."""
    _POLICIES[policy.name] = policy
    return policy


def scripted_names() -> tuple[str, ...]:
    """The names of all scripted policies, simplest first, without their prefix."""
    return _NAMES


def get_scripted(name: str) -> ScriptedPolicy:
    """The scripted policy called ``name``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    if name not in _NAMES:
        listed = ", ".join(f"scripted:{known}" for known in _NAMES)
        raise BadInput(f"unknown policy 'scripted:{name}'; choose from {listed}")
    import_module(f"sandmle.agents.chat.scripted.{name.partition('-')[0]}")
    return _POLICIES[name]
