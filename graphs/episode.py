"""What the graphs of all scaffolds share: their context, the objects behind an episode, and how the model is asked.

Two ways to run a scaffold's graph:

- the runner calls ``Scaffold.rollout``, which binds its own model and session to the context;
- ``langgraph dev`` gives a JSON context (task folder, model, protocol, turns); then the graph opens its own session,
  replays it where a thread is resumed or forked, and puts the grade into the state at the end.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from sandmle.agents.chat import ModelTimeout, make_policy
from sandmle.agents.session import AgentSession, ToolResult
from sandmle.errors import BadInput, InfraError
from sandmle.grades import GradeReport
from sandmle.graphs.clock import Clock
from sandmle.graphs.scaffold import Budget
from sandmle.sandboxes import LocalBackend
from sandmle.settings import get_settings
from sandmle.task import Task
from sandmle.trajectory import Action, EpisodeStatus, Message, Protocol, TokenFields, Turn, Usage

__all__ = [
    "CarryOut",
    "EpisodeState",
    "Live",
    "Reply",
    "ScaffoldContext",
    "Update",
    "acted",
    "ask",
    "close_episode",
    "ended",
    "live",
    "open_episode",
    "shrunk",
]

Update = dict[str, Any]
CarryOut = Callable[[AgentSession, Sequence[Turn], Action], Awaitable[ToolResult]]
"""Carries out an action of a scaffold; ``turns`` are those before it."""
_MESSAGE_TYPES: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


class Reply(BaseModel):
    """A model's reply that has yet to be acted on, with what the call cost."""

    text: str
    usage: Usage = Usage()
    seconds: float = 0.0
    tokens: TokenFields | None = None
    weight_version: int | None = None


class EpisodeState(BaseModel):
    """What every scaffold's state holds.

    Attributes:
        session_key: names the session that the graph opened itself; empty where the runner owns it.
        turns: the finished turns.
        status: how the episode ended, None while it runs; ``reason`` says more in words.
        room: tokens of a prompt that the endpoint takes, where it has refused one within the budget as too long.
        grade: set at the end, only where the graph opened the session itself.
    """

    session_key: str = ""
    turns: tuple[Turn, ...] = ()
    status: EpisodeStatus | None = None
    reason: str = ""
    room: int | None = None
    grade: GradeReport | None = None


@dataclass(frozen=True)
class Live:
    """The objects behind one episode.

    Attributes:
        recorder: receives every turn when it is finished.
        clock: of the episode.
    """

    model: BaseChatModel
    session: AgentSession
    budget: Budget
    recorder: list[Turn] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    @property
    def seconds_left(self) -> float:
        """Seconds until the episode's wall budget is spent."""
        return self.budget.wall_seconds - self.clock.seconds


class ScaffoldContext(BaseModel):
    """The context as JSON, for LangGraph Studio and ``langgraph dev``."""

    model_config = ConfigDict(frozen=True)

    task: str = Field(description="Path of a task folder")
    model: str = Field(default="scripted:linear", description="A policy, such as scripted:linear or openai:NAME")
    base_url: str | None = Field(default=None, description="Address of an OpenAI-compatible endpoint")
    protocol: Protocol = Field(default="clean", description="What the agent learns about its score")
    turns: Annotated[int, Field(gt=0, description="At most so many model calls")] = 20
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


Context = Runtime[ScaffoldContext]
_OWN: dict[str, Live] = {}
_TOOLS = frozenset({"python", "validate", "score", "reset"})
"""Kinds of actions that call the session once."""


async def open_episode(
    state: EpisodeState, runtime: Context, carry_out: CarryOut, look: Callable[[Live], Awaitable[Update]]
) -> Update:
    """Open an episode's session and look at its task; what ``look`` gives, with the key that the state must hold."""
    key = state.session_key or uuid.uuid4().hex
    keyed = state.model_copy(update={"session_key": "" if runtime.context and runtime.context.bound else key})
    bound = await live(keyed, runtime, carry_out)
    try:
        return {**await look(bound), "session_key": keyed.session_key}
    except BaseException:
        await abandon(keyed)
        raise


async def live(state: EpisodeState, runtime: Context, carry_out: CarryOut) -> Live:
    """Model, session and budget of this episode.

    A session of our own that doesn't stand where the state stands (the thread was forked, edited or resumed after a
    restart) is opened anew and brought there by carrying out the actions of the state's turns again.

    Raises:
        BadInput: no context was given, or it names a task or model that can't be used.
        InfraError: the sandbox failed.
    """
    context = runtime.context
    if context is None:
        raise BadInput("the graph needs a context with at least the task: a task folder's path")
    if context.bound is not None:
        return context.bound
    held = _OWN.get(_place(state))
    if held is None or not _stands_at(held, state.turns):
        await abandon(state)
        held = await _opened(context, state.session_key)
        _OWN[_place(state)] = held
        try:
            for position, turn in enumerate(state.turns):
                if turn.action is not None:
                    await carry_out(held.session, state.turns[:position], turn.action)
        except BaseException:
            await abandon(state)
            raise
        held.recorder.extend(state.turns)
    return held


def _place(state: EpisodeState) -> str:
    """Names the session of a thread; a copied thread has one of its own."""
    return f"{get_config().get('configurable', {}).get('thread_id', '')} {state.session_key}"


def _stands_at(held: Live, turns: tuple[Turn, ...]) -> bool:
    """Whether a session did what the turns say and nothing since, such as a step whose turn was cancelled."""
    calls = sum(turn.action is not None and turn.action.kind in _TOOLS for turn in turns)
    return tuple(held.recorder) == turns and held.session.calls == calls


async def _opened(context: ScaffoldContext, seed: str) -> Live:
    """A session of our own; with the same seed its actions, carried out again, do the same."""
    task = await asyncio.to_thread(Task.load, Path(context.task))
    policy = await asyncio.to_thread(make_policy, context.model, base_url=context.base_url, task=task)
    budget = Budget(turns=context.turns, step_seconds=task.manifest.limits.step_seconds)
    settings = await asyncio.to_thread(get_settings)
    backend = _own_backend(settings.allow_unisolated or (policy.scripted and not policy.privileged))
    session = await AgentSession.open(task, backend, context.protocol, step_seconds=budget.step_seconds, seed=seed)
    return Live(policy.model, session, budget)


@cache
def _own_backend(allow_unisolated: bool) -> LocalBackend:
    """One backend for all sessions that the graph opens itself: its warm interpreter is paid for once."""
    return LocalBackend(allow_unisolated=allow_unisolated, python=get_settings().python)


async def abandon(state: EpisodeState) -> None:
    """Close the session that the graph opened for this state, if there is one."""
    held = _OWN.pop(_place(state), None)
    if held is not None:
        await held.session.aclose()


async def ask(bound: Live, messages: Sequence[Message]) -> Reply | Update:
    """The model's reply, or the update with which the episode ends.

    Raises:
        ContextOverflow: the endpoint says that the prompt is too long.
    """
    bound.session.submissions.turn = len(bound.recorder)
    left, used, started = bound.seconds_left, sum(turn.usage.tokens for turn in bound.recorder), bound.clock.seconds
    if left <= 0:
        return _out_of_time(bound)
    if bound.budget.tokens is not None and used >= bound.budget.tokens:
        return ended(EpisodeStatus.TOKEN_BUDGET, f"the episode used {used} of its {bound.budget.tokens} tokens")
    try:
        async with bound.clock.within(min(left, bound.budget.model_seconds)):
            answer = await bound.model.ainvoke([_MESSAGE_TYPES[each.role](each.content) for each in messages])
    except (TimeoutError, ModelTimeout):
        if bound.seconds_left <= 0:
            return _out_of_time(bound)
        return ended(EpisodeStatus.MODEL_TIMEOUT, f"no reply within {bound.budget.model_seconds:g} s")
    except InfraError as error:
        return ended(EpisodeStatus.INFRA_ERROR, str(error))
    return _reply(answer, bound.clock.seconds - started)


async def acted(bound: Live, doing: Awaitable[ToolResult]) -> ToolResult:
    """What an action did; of the time it takes, only that in which the agent's code ran is the episode's.

    Raises:
        InfraError: the sandbox failed.
    """
    started = bound.clock.seconds
    result = await doing
    bound.clock.forgive(bound.clock.seconds - started - (result.step.wall_s if result.step else 0.0))
    return result


def shrunk(tokens: int) -> int:
    """The room to try next where an endpoint refused a prompt of so many tokens as too long."""
    return tokens * 7 // 8


def _out_of_time(bound: Live) -> Update:
    return ended(EpisodeStatus.WALL_BUDGET, f"the episode used its {bound.budget.wall_seconds:g} s")


def _reply(answer: AIMessage, seconds: float) -> Reply:
    """The reply as text; reasoning that the endpoint delivered in its own field comes first, as a thinking block."""
    text = str(answer.text).encode("utf-8", "replace").decode()
    reasoning = answer.additional_kwargs.get("reasoning")
    if reasoning and "</think>" not in text:
        text = f"<think>\n{str(reasoning).strip()}\n</think>\n{text}"
    counted = answer.usage_metadata
    usage = (
        Usage(prompt_tokens=counted["input_tokens"], completion_tokens=counted["output_tokens"]) if counted else Usage()
    )
    fields = answer.additional_kwargs.get("token_fields")
    tokens = TokenFields.model_validate(fields) if fields else None
    version = answer.additional_kwargs.get("weight_version")
    return Reply(text=text, usage=usage, seconds=seconds, tokens=tokens, weight_version=version)


def ended(status: EpisodeStatus, reason: str = "") -> Update:
    """The update with which an episode ends."""
    return {"status": status, "reason": reason}


async def close_episode(state: EpisodeState, runtime: Context, carry_out: CarryOut) -> Update:
    """Close and grade the session that the graph opened itself; the runner's session is the runner's."""
    if runtime.context.bound is not None:
        return {}
    bound = await live(state, runtime, carry_out)
    await abandon(state)
    return {"grade": bound.session.submissions.grade()}
