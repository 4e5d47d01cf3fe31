"""The graph's nodes and wiring, and the scaffold that the runner drives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from sandmle.agents.chat import ContextOverflow
from sandmle.agents.chat.scripted import profile_script
from sandmle.agents.context import estimate_tokens
from sandmle.agents.session import AgentSession, ToolResult
from sandmle.errors import InfraError
from sandmle.graphs.aide._journal import Journal, Node
from sandmle.graphs.aide._prompts import fits, review_prompt, write_prompt
from sandmle.graphs.aide._replies import Solution, read_review, read_solution
from sandmle.graphs.aide._state import AideState, journal_of
from sandmle.graphs.episode import (
    Context,
    Live,
    Reply,
    ScaffoldContext,
    Update,
    acted,
    ask,
    close_episode,
    ended,
    live,
    open_episode,
    shrunk,
)
from sandmle.graphs.parsing import FormatFault
from sandmle.graphs.scaffold import Budget, Outcome, register
from sandmle.record import sha256_json
from sandmle.trajectory import Action, EpisodeStatus, Message, Turn

__all__ = ["AideScaffold", "graph"]

TRIES = 3
"""So many replies in a row without a script end the episode; so many that are no review leave a solution buggy."""


class AideScaffold:
    """A tree of solutions."""

    name = "aide"

    async def rollout(
        self, model: BaseChatModel, session: AgentSession, budget: Budget, *, recorder: list[Turn]
    ) -> Outcome:
        """See ``sandmle.graphs.scaffold.Scaffold.rollout``."""
        context = ScaffoldContext.bound_to(Live(model, session, budget, recorder))
        result: dict[str, Any] = await graph.ainvoke(AideState(), context=context)
        final = AideState.model_validate(result)
        journal = Journal(final.nodes, lower_is_better=session.task.manifest.lower_is_better).to_json()
        return Outcome(final.status or EpisodeStatus.INTERNAL_ERROR, final.reason, final.turns, final.pruned, journal)


async def carry_out(session: AgentSession, turns: Sequence[Turn], action: Action) -> ToolResult:
    """Run a script, and say whether it submitted; under ``paper`` and ``dojo`` the score is told too."""
    if action.kind != "python":
        return ToolResult("")
    result = await session.python(action.code, tell=session.protocol == "paper")
    if session.protocol in ("paper", "dojo") and result.submitted:
        return result
    told = session.submissions.validity() if result.submitted else "[no submission.csv was written]"
    return replace(result, observation=f"{result.observation}\n{told}")


async def begin(state: AideState, runtime: Context) -> Update:
    """Look at the public files."""

    async def look(bound: Live) -> Update:
        return {"preview": await bound.session.look(profile_script())}

    return await open_episode(state, runtime, carry_out, look)


async def select(state: AideState, runtime: Context) -> Update:
    """Choose what to work on; the same replies lead to the same choices."""
    bound = await live(state, runtime, carry_out)
    seed = sha256_json([bound.session.task.id, [turn.reply for turn in state.turns]])
    return {"parent": journal_of(state, bound).next(random.Random(seed))}


async def write(state: AideState, runtime: Context) -> Update:
    """Ask for a plan and a script, and run the script."""
    bound = await live(state, runtime, carry_out)
    prompt, left_out = await write_prompt(state, bound)
    if not fits(prompt, state, bound) and state.parent is not None:
        state = state.model_copy(update={"parent": None})  # what it would mend or improve is too long: draft instead
        prompt, left_out = await write_prompt(state, bound)
    reply = await _asked(prompt, state, bound)
    if isinstance(reply, dict):
        return reply
    solution = read_solution(reply.text)
    if isinstance(solution, FormatFault):
        return _unusable(state, bound, prompt, reply, solution)
    action, run = Action(kind="python", code=solution.code), bound.session.steps
    try:
        result = await acted(bound, carry_out(bound.session, state.turns, action))
    except InfraError as error:
        return _turned(state, bound, _turn(state, prompt, reply, action)) | ended(EpisodeStatus.INFRA_ERROR, str(error))
    _choose(journal_of(state, bound), bound)
    turn = _turn(state, prompt, reply, action, result)
    update: Update = {"faults": 0, "pruned": max(state.pruned, left_out)}
    return _turned(state, bound, turn) | update | {"pending": _run_node(state, bound, solution, run, result)}


async def _asked(prompt: Message, state: AideState, bound: Live) -> Reply | Update:
    """The reply to a prompt that fits; else the update that ends the episode, or asks again with less room."""
    if not fits(prompt, state, bound):
        room = state.room or bound.budget.prompt_tokens
        return ended(EpisodeStatus.TOKEN_BUDGET, f"the prompt doesn't fit {room} tokens")
    try:
        reply = await ask(bound, [prompt])
    except ContextOverflow:
        return {"room": shrunk(estimate_tokens([prompt]))}
    if not isinstance(reply, dict):
        bound.session.watch(reply.text)
    return reply


def _run_node(state: AideState, bound: Live, solution: Solution, run: int, result: ToolResult) -> Node:
    valid = any(attempt.step == run for attempt in bound.session.submissions.archive)
    return Node(
        parent=state.parent,
        plan=solution.plan,
        code=solution.code,
        run=run,
        output=result.observation,
        failed=not valid or result.step is None or result.step.status != "ok",
        wall_s=round(result.step.wall_s, 3) if result.step else 0.0,
    )


async def review(state: AideState, runtime: Context) -> Update:
    """Ask what came of the run, and put it into the journal."""
    bound, node = await live(state, runtime, carry_out), state.pending
    if node is None:
        raise ValueError("the state holds no run to review")
    prompt = await review_prompt(node, state, bound)
    reply = await _asked(prompt, state, bound)
    if isinstance(reply, dict):
        return reply
    found = read_review(reply.text)
    if isinstance(found, FormatFault):
        turn = _turn(state, prompt, reply, None, ToolResult(f"[format] {found.message}"))
        if state.faults + 1 < TRIES:
            return {"faults": state.faults + 1} | _turned(state, bound, turn)
    else:
        turn = _turn(state, prompt, reply, Action(kind="review"))
        buggy = found.is_bug or node.failed or found.metric is None
        node = node.model_copy(update={"is_buggy": buggy, "analysis": found.summary, "metric": found.metric})
    reviewed = state.model_copy(update={"nodes": (*state.nodes, node)})
    _choose(journal_of(reviewed, bound), bound)
    update: Update = {"faults": 0, "pending": None, "nodes": reviewed.nodes}
    return update | _turned(state, bound, turn, needed=2)


async def finish(state: AideState, runtime: Context) -> Update:
    """Close."""
    bound = await live(state, runtime, carry_out)
    _choose(journal_of(state, bound), bound)
    return await close_episode(state, runtime, carry_out)


def _choose(journal: Journal, bound: Live) -> None:
    """Let the best solution's submission count from here on, unless the protocol takes the best score anyway."""
    place, submissions = journal.best(), bound.session.submissions
    if place is None or bound.session.protocol == "dojo":
        return
    run, counts = journal.nodes[place].run, submissions.selected()
    if counts is None or counts.step != run:
        submissions.submit_again(run)
        if bound.session.protocol == "paper":
            submissions.tell()


def _unusable(state: AideState, bound: Live, prompt: Message, reply: Reply, fault: FormatFault) -> Update:
    """A reply without a script: the same is asked again, or the episode ends."""
    turn = _turn(state, prompt, reply, None, ToolResult(f"[format] {fault.message}"))
    update: Update = {"faults": state.faults + 1} | _turned(state, bound, turn, needed=2)
    if state.faults + 1 >= TRIES:
        update |= ended(EpisodeStatus.FORMAT_ABORT, f"{TRIES} replies in a row held no script")
    return update


def _turn(
    state: AideState, prompt: Message, reply: Reply, action: Action | None, result: ToolResult | None = None
) -> Turn:
    return Turn(
        index=len(state.turns),
        messages=(prompt,),
        anew=True,
        reply=reply.text,
        action=action,
        format_ok=action is not None,
        step=result.step if result else None,
        observation=result.observation if result else "",
        usage=reply.usage,
        model_s=reply.seconds,
        tokens=reply.tokens,
        weight_version=reply.weight_version,
    )


def _turned(state: AideState, bound: Live, turn: Turn, *, needed: int = 1) -> Update:
    """A finished turn; where the budget has fewer turns left than are needed to go on, the episode ends."""
    bound.recorder.append(turn)
    update: Update = {"turns": (*state.turns, turn)}
    if bound.budget.turns - turn.index - 1 < needed:
        used = f"{turn.index + 1} of {bound.budget.turns} turns are used"
        update |= ended(EpisodeStatus.MAX_TURNS, used)
    return update


def _after_write(state: AideState) -> Literal["write", "review", "finish"]:
    """Review what was run; ask again where there was no script."""
    if state.status is not None:
        return "finish"
    return "review" if state.pending is not None else "write"


def _after_review(state: AideState) -> Literal["review", "select", "finish"]:
    """Ask again where the review could not be read; go on until the episode has a status."""
    if state.status is not None:
        return "finish"
    return "review" if state.pending is not None else "select"


def builder() -> StateGraph[AideState, ScaffoldContext, AideState, AideState]:
    """The uncompiled graph, for callers that compile it with a checkpointer of their own."""
    build = StateGraph(AideState, context_schema=ScaffoldContext)
    for node in (begin, select, write, review, finish):
        build.add_node(node.__name__, node)
    build.add_edge(START, "begin")
    build.add_edge("begin", "select")
    build.add_edge("select", "write")
    build.add_conditional_edges("write", _after_write)
    build.add_conditional_edges("review", _after_review)
    build.add_edge("finish", END)
    return build


graph: CompiledStateGraph[AideState, ScaffoldContext, AideState, AideState] = builder().compile(name="aide")
register(AideScaffold())
