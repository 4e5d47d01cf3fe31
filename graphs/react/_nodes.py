"""The nodes: each reads the state, does one thing, and returns what changed, so that a repeated node does no harm."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from sandmle.agents.chat import ContextOverflow, ModelTimeout
from sandmle.agents.context import fit, respond
from sandmle.agents.session import ToolResult
from sandmle.errors import InfraError
from sandmle.graphs.parsing import FormatFault, parse_reply
from sandmle.graphs.react._context import Live, ReactContext, close_own, live
from sandmle.graphs.react._state import ReactState, Reply
from sandmle.prompts import load_prompt
from sandmle.trajectory import Action, EpisodeStatus, Message, TokenFields, Turn, Usage

__all__ = ["FAULTS_IN_A_ROW", "act", "after_act", "after_think", "begin", "finish", "think"]

FAULTS_IN_A_ROW = 3
"""So many replies in a row that can't be parsed end the episode."""

Update = dict[str, Any]
_MESSAGE_TYPES: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


async def begin(state: ReactState, runtime: Runtime[ReactContext]) -> Update:
    """Write the system prompt and the task."""
    key = state.session_key or uuid.uuid4().hex
    keyed = state.model_copy(update={"session_key": "" if runtime.context and runtime.context.bound else key})
    bound = await live(keyed, runtime.context)
    session, limits = bound.session, bound.session.task.manifest.limits
    prompt = (await asyncio.to_thread(load_prompt, "react")).render(
        turns=bound.budget.turns,
        step_seconds=f"{session.step_seconds:g}",
        memory_mib=limits.memory_mib,
        protocol=session.protocol,
        score_calls=session.score_calls_left,
    )
    task = await asyncio.to_thread(lambda: session.description)
    opening = (Message(role="system", content=prompt), Message(role="user", content=task))
    return {"opening": opening, "session_key": keyed.session_key}


async def think(state: ReactState, runtime: Runtime[ReactContext]) -> Update:
    """Fit the conversation into the budget and call the model."""
    bound = await live(state, runtime.context)
    left = bound.seconds_left
    if left <= 0:
        return _ended(EpisodeStatus.WALL_BUDGET, f"the episode used its {bound.budget.wall_seconds:g} s")
    budget, ratio = bound.budget.prompt_tokens, state.chars_per_token
    fitted = fit(state.conversation, budget, keep=state.submission_turn, chars_per_token=ratio)
    if fitted is None:
        return _ended(EpisodeStatus.TOKEN_BUDGET, f"the prompt doesn't fit {budget} tokens however much is left out")
    dropped: Update = {
        "dropped_observations": fitted.dropped_observations,
        "dropped_replies": tuple(sorted(fitted.dropped_replies)),
    }
    return dropped | await _ask(bound, fitted.messages, min(left, bound.budget.model_seconds))


async def _ask(bound: Live, messages: Sequence[Message], seconds: float) -> Update:
    """Call the model; a failure becomes the episode's status."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            answer = await bound.model.ainvoke([_MESSAGE_TYPES[each.role](each.content) for each in messages])
    except (TimeoutError, ModelTimeout):
        if bound.seconds_left <= 0:
            return _ended(EpisodeStatus.WALL_BUDGET, f"the episode used its {bound.budget.wall_seconds:g} s")
        return _ended(EpisodeStatus.MODEL_TIMEOUT, f"no reply within {bound.budget.model_seconds:g} s")
    except ContextOverflow as error:
        return _ended(EpisodeStatus.TOKEN_BUDGET, str(error))
    except InfraError as error:
        return _ended(EpisodeStatus.INFRA_ERROR, str(error))
    reply = _reply(answer, time.monotonic() - started)
    update: Update = {"reply": reply}
    if reply.usage.prompt_tokens:
        update["chars_per_token"] = sum(len(each.content) for each in messages) / reply.usage.prompt_tokens
    return update


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
    return Reply(text=text, usage=usage, seconds=seconds, tokens=tokens)


async def act(state: ReactState, runtime: Runtime[ReactContext]) -> Update:
    """Carry out the reply's action and finish the turn."""
    bound = await live(state, runtime.context)
    if state.reply is None:
        raise ValueError("the state holds no reply to act on")
    bound.session.watch(state.reply.text)
    parsed = parse_reply(state.reply.text)
    update: Update = {"reply": None, "faults": 0}
    if isinstance(parsed, FormatFault):
        action, result = None, ToolResult(f"[format] {parsed.message}")
        update["faults"] = state.faults + 1
    else:
        action = parsed
        try:
            result = await _carry_out(bound, parsed)
        except InfraError as error:
            result = ToolResult("")
            update |= _ended(EpisodeStatus.INFRA_ERROR, str(error))
    turn = _turn(state, state.reply, action, result)
    bound.recorder.append(turn)
    update["turns"] = (*state.turns, turn)
    if result.submitted:
        update["submission_turn"] = turn.index
    return _ending(action, update, bound.budget.turns) | update


async def _carry_out(bound: Live, action: Action) -> ToolResult:
    match action.kind:
        case "python":
            return await bound.session.python(action.code)
        case "score":
            return await bound.session.score()
        case "answer":
            return ToolResult("")


def _turn(state: ReactState, reply: Reply, action: Action | None, result: ToolResult) -> Turn:
    return Turn(
        index=len(state.turns),
        messages=(respond(state.turns[-1].observation),) if state.turns else state.opening,
        reply=reply.text,
        action=action,
        format_ok=action is not None,
        step=result.step,
        observation=result.observation,
        usage=reply.usage,
        model_s=reply.seconds,
        tokens=reply.tokens,
    )


def _ending(action: Action | None, update: Update, turns: int) -> Update:
    """The status that this turn brings, if it is the last."""
    if action is not None and action.kind == "answer":
        return _ended(EpisodeStatus.ANSWERED)
    if update["faults"] >= FAULTS_IN_A_ROW:
        return _ended(EpisodeStatus.FORMAT_ABORT, f"{FAULTS_IN_A_ROW} replies in a row could not be parsed")
    if len(update["turns"]) >= turns:
        return _ended(EpisodeStatus.MAX_TURNS, f"no answer in {turns} turns")
    return {}


def _ended(status: EpisodeStatus, reason: str = "") -> Update:
    return {"status": status, "reason": reason}


async def finish(state: ReactState, runtime: Runtime[ReactContext]) -> Update:
    """Close and grade the session that the graph opened itself; the runner's session is the runner's."""
    if runtime.context.bound is not None:
        return {}
    bound = await live(state, runtime.context)
    await close_own(state)
    return {"grade": bound.session.grade()}


def after_think(state: ReactState) -> Literal["act", "finish"]:
    """Act on a reply; finish where the model call ended the episode."""
    return "act" if state.status is None else "finish"


def after_act(state: ReactState) -> Literal["think", "finish"]:
    """Think again until the episode has a status."""
    return "think" if state.status is None else "finish"
