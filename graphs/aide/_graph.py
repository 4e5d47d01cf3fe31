"""The graph's nodes and wiring, and the scaffold that the runner drives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from sandmle.agents.chat.scripted import profile_script
from sandmle.agents.context import estimate_tokens
from sandmle.agents.session import AgentSession, ToolResult
from sandmle.errors import InfraError
from sandmle.eval.metrics import get_metric
from sandmle.graphs.aide._journal import Journal, Node
from sandmle.graphs.aide._replies import Solution, read_review, read_solution
from sandmle.graphs.episode import (
    Context,
    EpisodeState,
    Live,
    Reply,
    ScaffoldContext,
    Update,
    ask,
    close_episode,
    ended,
    live,
    open_episode,
)
from sandmle.graphs.parsing import FormatFault
from sandmle.graphs.scaffold import Budget, Outcome, register
from sandmle.prompts import load_prompt
from sandmle.record import sha256_json
from sandmle.trajectory import Action, EpisodeStatus, Message, Turn

__all__ = ["AideScaffold", "AideState", "graph"]

TRIES = 3
"""So many replies in a row without a script end the episode."""
MAX_OUTPUT = 5_000
"""Characters of an output that a prompt shows: half from its start, half from its end."""


class AideState(EpisodeState):
    """One episode so far.

    Attributes:
        preview: what the public files look like.
        nodes: the journal.
        parent: position of the node to improve or mend; None for a draft.
        pending: the node that was run and has yet to be reviewed.
        faults: replies without a script in a row, up to now.
        pruned: how many of the oldest solutions no longer fit the context.
    """

    preview: str = ""
    nodes: tuple[Node, ...] = ()
    parent: int | None = None
    pending: Node | None = None
    faults: int = 0
    pruned: int = 0


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
        return Outcome(final.status or EpisodeStatus.INTERNAL_ERROR, final.reason, final.turns, final.pruned)


async def carry_out(session: AgentSession, turns: Sequence[Turn], action: Action) -> ToolResult:
    """Run a script; under ``paper`` its score is asked for at once, as its loop does."""
    if action.kind != "python":
        return ToolResult("")
    return await session.python(action.code, tell=session.protocol in ("clean", "paper"))


async def begin(state: AideState, runtime: Context) -> Update:
    """Look at the public files."""
    bound, key = await open_episode(state, runtime, carry_out)
    return {"session_key": key, "preview": await bound.session.look(profile_script())}


async def select(state: AideState, runtime: Context) -> Update:
    """Choose what to work on; the same replies lead to the same choices."""
    bound = await live(state, runtime, carry_out)
    seed = sha256_json([bound.session.task.id, [turn.reply for turn in state.turns]])
    return {"parent": _journal(bound, state.nodes).next(random.Random(seed))}


async def write(state: AideState, runtime: Context) -> Update:
    """Ask for a plan and a script, and run the script."""
    bound = await live(state, runtime, carry_out)
    prompt, left_out = await _write_prompt(state, bound)
    if estimate_tokens([prompt]) > bound.budget.prompt_tokens:
        return ended(EpisodeStatus.TOKEN_BUDGET, f"the prompt doesn't fit {bound.budget.prompt_tokens} tokens")
    reply = await ask(bound, [prompt])
    if isinstance(reply, dict):
        return reply
    bound.session.watch(reply.text)
    solution = read_solution(reply.text)
    if isinstance(solution, FormatFault):
        return _unusable(state, bound, prompt, reply, solution)
    action, run = Action(kind="python", code=solution.code), bound.session.steps
    try:
        result = await carry_out(bound.session, state.turns, action)
    except InfraError as error:
        return _turned(state, bound, _turn(state, prompt, reply, action)) | ended(EpisodeStatus.INFRA_ERROR, str(error))
    turn = _turn(state, prompt, reply, action, result)
    update: Update = {"faults": 0, "pruned": max(state.pruned, left_out)}
    return _turned(state, bound, turn) | update | {"pending": _run_node(state, bound, solution, run, result)}


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
    told = _told(bound) | {"code": node.code.strip(), "output": _trimmed(node.output)}
    prompt = await _prompt("aide_review", {**told, "description": await _description(bound)})
    reply = await ask(bound, [prompt])
    if isinstance(reply, dict):
        return reply
    bound.session.watch(reply.text)
    found = read_review(reply.text)
    action = None if isinstance(found, FormatFault) else Action(kind="review")
    if not isinstance(found, FormatFault):
        buggy = found.is_bug or node.failed or found.metric is None
        node = node.model_copy(update={"is_buggy": buggy, "analysis": found.summary, "metric": found.metric})
    observation = f"[format] {found.message}" if isinstance(found, FormatFault) else ""
    turn = _turn(state, prompt, reply, action, ToolResult(observation))
    update = _turned(state, bound, turn, needed=2)
    return update | {"pending": None, "nodes": (*state.nodes, node)}


async def finish(state: AideState, runtime: Context) -> Update:
    """Make the best solution's submission the last one, unless the protocol takes the best score anyway."""
    bound = await live(state, runtime, carry_out)
    place = _journal(bound, state.nodes).best()
    if place is not None and bound.session.protocol != "dojo":
        bound.session.submissions.submit_again(state.nodes[place].run)
        if bound.session.protocol == "paper":
            await bound.session.score()
    return await close_episode(state, runtime, carry_out)


def _journal(bound: Live, nodes: Sequence[Node]) -> Journal:
    return Journal(nodes, lower_is_better=bound.session.task.manifest.lower_is_better)


async def _write_prompt(state: AideState, bound: Live) -> tuple[Message, int]:
    """What asks for a solution, and how many of the oldest solutions it leaves out to fit the context."""
    manifest, nodes = bound.session.task.manifest, state.nodes
    parent = nodes[state.parent] if state.parent is not None else None
    stage = "draft" if parent is None else "debug" if parent.is_buggy else "improve"
    memory = [] if stage == "debug" else _journal(bound, nodes).memory()
    inputs = {
        **_told(bound),
        "stage": stage,
        "attempt": len(nodes) + 1,
        "turns_left": bound.budget.turns - len(state.turns),
        "step_seconds": f"{bound.session.step_seconds:g}",
        "memory_mib": manifest.limits.memory_mib,
        "description": await _description(bound),
        "preview": state.preview,
        "code": parent.code.strip() if parent else "",
        "output": _trimmed(parent.output) if parent else "",
        "analysis": parent.analysis if parent else "",
    }
    for left_out in range(len(memory) + 1):
        prompt = await _prompt("aide_write", {**inputs, "memory": "\n\n".join(memory[left_out:])})
        if estimate_tokens([prompt]) <= bound.budget.prompt_tokens:
            break
    return prompt, left_out


def _told(bound: Live) -> dict[str, str]:
    manifest = bound.session.task.manifest
    return {
        "metric": get_metric(manifest.metric).title,
        "direction": "lower" if manifest.lower_is_better else "higher",
    }


async def _description(bound: Live) -> str:
    return await asyncio.to_thread(lambda: bound.session.description)


async def _prompt(name: str, inputs: dict[str, Any]) -> Message:
    prompt = await asyncio.to_thread(load_prompt, name)
    return Message(role="user", content=prompt.render(**inputs))


def _trimmed(output: str) -> str:
    if len(output) <= MAX_OUTPUT:
        return output
    half = MAX_OUTPUT // 2
    return f"{output[:half]}\n... [{len(output) - 2 * half} characters left out] ...\n{output[-half:]}"


def _unusable(state: AideState, bound: Live, prompt: Message, reply: Reply, fault: FormatFault) -> Update:
    """A reply without a script: the same is asked again, or the episode ends."""
    turn = _turn(state, prompt, reply, None, ToolResult(f"[format] {fault.message}"))
    update: Update = {"faults": state.faults + 1} | _turned(state, bound, turn)
    if state.faults + 1 >= TRIES:
        update |= ended(EpisodeStatus.FORMAT_ABORT, f"{TRIES} replies in a row held no script")
    return update


def _turn(
    state: AideState, prompt: Message, reply: Reply, action: Action | None, result: ToolResult | None = None
) -> Turn:
    return Turn(
        index=len(state.turns),
        messages=(prompt,),
        reply=reply.text,
        action=action,
        format_ok=action is not None,
        step=result.step if result else None,
        observation=result.observation if result else "",
        usage=reply.usage,
        model_s=reply.seconds,
        tokens=reply.tokens,
    )


def _turned(state: AideState, bound: Live, turn: Turn, *, needed: int = 1) -> Update:
    """A finished turn; where the budget has fewer turns left than are needed to go on, the episode ends."""
    bound.recorder.append(turn)
    update: Update = {"turns": (*state.turns, turn)}
    if bound.budget.turns - turn.index - 1 < needed:
        update |= ended(EpisodeStatus.MAX_TURNS, f"{bound.budget.turns} turns are used")
    return update


def _after_write(state: AideState) -> Literal["write", "review", "finish"]:
    """Review what was run; ask again where there was no script."""
    if state.status is not None:
        return "finish"
    return "review" if state.pending is not None else "write"


def _after_review(state: AideState) -> Literal["select", "finish"]:
    """Go on until the episode has a status."""
    return "select" if state.status is None else "finish"


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
