"""What nodes share: folder and workshop of a run, a role that acts within its budget, and the way back to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from langgraph.runtime import Runtime

from sandmle.agents.llm import Spending, metered
from sandmle.agents.roles import Feedback, Role, RoleFailure
from sandmle.errors import BadInput
from sandmle.eval.grading import InvalidSubmission
from sandmle.eval.metrics import MetricUndefined
from sandmle.graphs.synthesis.state import Stage, SynthesisContext, SynthesisState
from sandmle.graphs.synthesis.workshop import Workshop

__all__ = [
    "Context",
    "Update",
    "data_faults",
    "feedback_to",
    "in_thread",
    "over_budget",
    "play",
    "sent_back",
    "work_of",
    "workshop_of",
]

P = ParamSpec("P")
T = TypeVar("T")
Update = dict[str, Any]
UNREADABLE = (OSError, ValueError, LookupError, TypeError, BadInput)
Context = Runtime[SynthesisContext]


async def work_of(state: SynthesisState, runtime: Context) -> Path:
    """The work folder of the slot; the path is resolved in a thread."""
    return await asyncio.to_thread(runtime.context.work, state.slot)


async def play(state: SynthesisState, runtime: Context, stage: Stage, act: Callable[[], Awaitable[Update]]) -> Update:
    """Let a role act; what it costs is counted, and what it can't do, or may no longer pay, ends the candidate."""
    if problem := over_budget(state, runtime):
        return {"route": "reject", "problem": problem, "stage": "budget"}
    with metered() as calls:
        try:
            update = {"route": "onward", **await act()}
        except RoleFailure as failure:
            update = {"route": "reject", "problem": str(failure), "stage": stage}
    spent = sum(calls, Spending())
    return {**update, "tokens": state.tokens + spent.tokens, "money": round(state.money + spent.money, 6)}


def over_budget(state: SynthesisState, runtime: Context) -> str:
    """Which budget of the slot is used, in words; empty if none."""
    team = runtime.context.players()
    if team.task_tokens is not None and state.tokens >= team.task_tokens:
        return f"the task has used {state.tokens:,} of {team.task_tokens:,} tokens"
    if team.task_money is not None and state.money >= team.task_money:
        return f"the task has cost {state.money:.2f} of {team.task_money:.2f}"
    return ""


async def workshop_of(runtime: Context) -> Workshop:
    """Team and sandboxes; they are made in a thread, which reads files."""
    return await asyncio.to_thread(runtime.context.workshop)


def data_faults(workshop: Workshop) -> tuple[type[Exception], ...]:
    """What reading a candidate's data may raise: more where a model wrote the generator, for it may write anything."""
    ours = (InvalidSubmission, MetricUndefined)
    return ours if workshop.team.players["developer"] == "procedural" else (*ours, *UNREADABLE)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """What a function returns, run in a thread, and the CPU seconds it took there."""

    def run() -> tuple[T, float]:
        start = time.thread_time()
        return function(*args, **kwargs), time.thread_time() - start

    return await asyncio.to_thread(run)


def feedback_to(state: SynthesisState, role: Role) -> Feedback | None:
    """What the role is told; None on its first attempt."""
    attempt = state.attempts.get(role, 0)
    return Feedback(attempt=attempt, problem=state.problem, calibration=state.calibration) if attempt else None


def sent_back(state: SynthesisState, runtime: Context, role: Role, stage: Stage, problem: str) -> Update:
    """Back to the role, or rejected when its attempts are used."""
    used = state.attempts.get(role, 0)
    if used >= runtime.context.max_attempts:
        return {"route": "reject", "problem": problem, "stage": stage}
    return {"route": "retry", "problem": problem, "stage": stage, "attempts": {**state.attempts, role: used + 1}}
