"""From a policy's name to its chat model."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from sandmle.agents.chat._pace import Pace
from sandmle.errors import BadInput
from sandmle.task import Task

__all__ = ["Policy", "make_policy", "policy_names"]


@dataclass(frozen=True)
class Policy:
    """The model inside a scaffold.

    Attributes:
        name: as users write it, such as ``openai:NAME`` or ``scripted:linear``.
        privileged: it was handed the hidden rule, so its results are a calibration, not a measurement.
        scripted: its code is ours, so it may run where the machine offers no isolation.
    """

    name: str
    model: BaseChatModel
    privileged: bool = False
    scripted: bool = False


def policy_names() -> tuple[str, ...]:
    """All names that ``make_policy`` takes, with ``openai:NAME`` for the endpoints."""
    from sandmle.agents.chat.scripted import scripted_names

    return ("openai:NAME", *(f"scripted:{name}" for name in scripted_names()))


def make_policy(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    pace: Pace | None = None,
    task: Task | None = None,
    seed: int = 0,
) -> Policy:
    """The policy called ``name``.

    An endpoint's policy can be shared by all episodes of a run; a privileged one is made for one task.

    Args:
        name: ``openai:NAME`` or ``scripted:NAME``.
        base_url: address of the OpenAI-compatible endpoint, such as ``http://127.0.0.1:8000/v1``; None for the
            settings', else OpenAI's own.
        api_key: the endpoint's key; None for the settings'. An endpoint given by its address may need none.
        temperature: None for the endpoint's own default.
        pace: the endpoint's, shared by all models there; None for one without limits of our own.
        task: the task that a privileged policy is handed.
        seed: random state of a scripted policy's code. It is not sent to endpoints, which would answer all repeats of
            an episode alike.

    Raises:
        BadInput: unknown name, or a privileged policy without a task that has a rule.
        EnvironmentProblem: an endpoint's policy with neither key nor address.
    """
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest:
        from sandmle.agents.chat.openai import endpoint_model

        model = endpoint_model(rest, base_url=base_url, api_key=api_key, temperature=temperature, pace=pace)
        return Policy(name, model)
    if kind == "scripted":
        from sandmle.agents.chat.scripted import get_scripted

        script = get_scripted(rest)
        return Policy(name, script.model(task=task, seed=seed), privileged=script.privileged, scripted=True)
    raise BadInput(f"unknown policy {name!r}; choose from {', '.join(policy_names())}")
