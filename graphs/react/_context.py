"""What a ReAct run is given besides its state: model, session and budget, either bound by the runner or opened here."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from sandmle.agents.chat import make_policy
from sandmle.agents.session import AgentSession
from sandmle.errors import BadInput
from sandmle.graphs.react._state import ReactState
from sandmle.graphs.scaffold import Budget
from sandmle.sandboxes import LocalBackend
from sandmle.settings import get_settings
from sandmle.task import Task
from sandmle.trajectory import Protocol, Turn

__all__ = ["Live", "ReactContext", "close_own", "live"]


@dataclass(frozen=True)
class Live:
    """The objects behind one episode; ``started`` is a monotonic clock's reading."""

    model: BaseChatModel
    session: AgentSession
    budget: Budget
    recorder: list[Turn] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        """Seconds until the episode's wall budget is spent."""
        return self.budget.wall_seconds - (time.monotonic() - self.started)


class ReactContext(BaseModel):
    """The context as JSON, for LangGraph Studio and ``langgraph dev``.

    Attributes:
        task: a task folder.
        model: a policy's name, such as ``scripted:linear`` or ``openai:NAME``.
        base_url: address of an OpenAI-compatible endpoint.
        protocol: what the agent learns about its score.
        turns: at most so many model calls.
    """

    model_config = ConfigDict(frozen=True)

    task: str
    model: str = "scripted:linear"
    base_url: str | None = None
    protocol: Protocol = "clean"
    turns: Annotated[int, Field(gt=0)] = 20
    _bound: Live | None = PrivateAttr(default=None)

    @classmethod
    def bound_to(cls, bound: Live) -> Self:
        """The context of an episode whose model and session the runner owns."""
        session = bound.session
        context = cls(
            task=str(session.task.root),
            model=bound.model.get_name(),
            protocol=session.protocol,
            turns=bound.budget.turns,
        )
        context._bound = bound
        return context

    @property
    def bound(self) -> Live | None:
        """What the runner bound, None where the graph opens its own session."""
        return self._bound


_OWN: dict[str, Live] = {}


async def live(state: ReactState, context: ReactContext | None) -> Live:
    """Model, session and budget of this episode.

    A session of our own that doesn't stand where the state stands (the thread was forked, edited or resumed after a
    restart) is opened anew and brought there by replaying the state's tool calls.

    Raises:
        BadInput: no context was given, or it names a task or model that can't be used.
        InfraError: the sandbox failed.
    """
    if context is None:
        raise BadInput("the graph needs a context with at least the task: a task folder's path")
    if context.bound is not None:
        return context.bound
    held = _OWN.get(state.session_key)
    if held is not None and held.session.calls == state.tool_calls:
        return held
    await close_own(state)
    task = await asyncio.to_thread(Task.load, Path(context.task))
    policy = await asyncio.to_thread(make_policy, context.model, base_url=context.base_url, task=task)
    budget = Budget(turns=context.turns, step_seconds=task.manifest.limits.step_seconds)
    settings = await asyncio.to_thread(get_settings)
    backend = _own_backend(settings.allow_unisolated or (policy.scripted and not policy.privileged))
    session = await AgentSession.open(task, backend, context.protocol, step_seconds=budget.step_seconds)
    _OWN[state.session_key] = opened = Live(policy.model, session, budget)
    for turn in state.turns:
        if turn.action is not None and turn.action.kind == "python":
            await session.python(turn.action.code)
        elif turn.action is not None and turn.action.kind == "score":
            await session.score()
    return opened


@cache
def _own_backend(allow_unisolated: bool) -> LocalBackend:
    """One backend for all sessions that the graph opens itself: its warm interpreter is paid for once."""
    return LocalBackend(allow_unisolated=allow_unisolated, python=get_settings().python)


async def close_own(state: ReactState) -> None:
    """Close the session that the graph opened for this state, if there is one."""
    held = _OWN.pop(state.session_key, None)
    if held is not None:
        await held.session.aclose()
