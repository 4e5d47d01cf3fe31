"""A scaffold that is one conversation: think, act, read the response, until the end. Kinds of it differ in manner only.

    begin ──▶ think ──▶ act ──┐
                ▲  │          │
                │  └──▶ finish│ ◀── status set
                └─────────────┘

Each pass through ``think`` and ``act`` is one turn: one model call, one action, one observation. The loop is bounded by
the budget's turns. A reply that can't be parsed gets a correction as its observation and costs the turn;
``faults_in_a_row`` of them end the episode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from sandmle.agents.chat import ContextOverflow
from sandmle.agents.context import CHARS_PER_TOKEN, Conversation, estimate_tokens, fit, respond
from sandmle.agents.observation import escape_control, plain_text
from sandmle.agents.session import AgentSession, ToolResult
from sandmle.errors import InfraError
from sandmle.graphs.episode import (
    Context,
    EpisodeState,
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
from sandmle.graphs.scaffold import Budget, Outcome
from sandmle.trajectory import Action, EpisodeStatus, Message, Turn

__all__ = ["ConversationScaffold", "ConversationState", "Manner"]

Builder = StateGraph["ConversationState", ScaffoldContext, "ConversationState", "ConversationState"]
Graph = CompiledStateGraph["ConversationState", ScaffoldContext, "ConversationState", "ConversationState"]


class ConversationState(EpisodeState):
    """One episode so far: all that a later turn depends on, as JSON-able values.

    Attributes:
        opening: what stands before the first reply.
        remembered: indices of the turns that later prompts show.
        reply: the reply that ``act`` has yet to carry out.
        faults: format faults in a row, up to now.
        submission_turn: index of the turn whose code wrote the last submission.
        dropped_observations: how many of the oldest observations no longer fit the context.
        dropped_replies: positions among the remembered turns whose reply no longer fits the context.
        chars_per_token: as measured on the last prompt that the endpoint counted.
    """

    opening: tuple[Message, ...] = ()
    remembered: tuple[int, ...] = ()
    reply: Reply | None = None
    faults: int = 0
    submission_turn: int | None = None
    dropped_observations: int = 0
    dropped_replies: tuple[int, ...] = ()
    chars_per_token: float = CHARS_PER_TOKEN


class Manner(ABC):
    """How a kind of conversation is held.

    Attributes:
        faults_in_a_row: so many replies in a row that can't be parsed end the episode.
        forgets_faults: a reply that could not be parsed, and its correction, are shown until one can be, then no more.
        respond: the message that carries an observation.
    """

    faults_in_a_row: ClassVar[int] = 3
    forgets_faults: ClassVar[bool] = False
    respond: Callable[[str], Message] = staticmethod(respond)

    @abstractmethod
    async def opening(self, bound: Live) -> tuple[Message, ...]:
        """What stands before the first reply."""

    @abstractmethod
    def parse(self, text: str) -> Action | FormatFault:
        """The one action in a reply, or what is wrong with the reply; never raises."""

    @abstractmethod
    async def carry_out(self, session: AgentSession, turns: Sequence[Turn], action: Action) -> ToolResult:
        """Do what the action says; ``turns`` are those before it.

        Raises:
            InfraError: the sandbox failed.
        """

    def ends_with(self, action: Action) -> bool:
        """Whether the action is the agent's last."""
        return action.kind == "answer"


class ConversationScaffold:
    """A conversation in a manner, as a scaffold and as a graph."""

    def __init__(self, name: str, manner: Manner) -> None:
        self.name = name
        self._manner = manner
        self.graph: Graph = self.builder().compile(name=name)

    async def rollout(
        self, model: BaseChatModel, session: AgentSession, budget: Budget, *, recorder: list[Turn]
    ) -> Outcome:
        """See ``sandmle.graphs.scaffold.Scaffold.rollout``."""
        context = ScaffoldContext.bound_to(Live(model, session, budget, recorder))
        result: dict[str, Any] = await self.graph.ainvoke(ConversationState(), context=context)
        final = ConversationState.model_validate(result)
        pruned = final.dropped_observations + len(final.dropped_replies)
        return Outcome(final.status or EpisodeStatus.INTERNAL_ERROR, final.reason, final.turns, pruned)

    def builder(self) -> Builder:
        """The uncompiled graph, for callers that compile it with a checkpointer of their own."""
        build = StateGraph(ConversationState, context_schema=ScaffoldContext)
        for name, node in (
            ("begin", self._begin),
            ("think", self._think),
            ("act", self._act),
            ("finish", self._finish),
        ):
            build.add_node(name, node)
        build.add_edge(START, "begin")
        build.add_edge("begin", "think")
        build.add_conditional_edges("think", _after_think)
        build.add_conditional_edges("act", _after_act)
        build.add_edge("finish", END)
        return build

    async def _begin(self, state: ConversationState, runtime: Context) -> Update:
        """Write what stands before the first reply."""

        async def look(bound: Live) -> Update:
            return {"opening": await self._manner.opening(bound)}

        return await open_episode(state, runtime, self._manner.carry_out, look)

    async def _think(self, state: ConversationState, runtime: Context) -> Update:
        """Fit the conversation into the budget and call the model; into less where the endpoint says it is too long."""
        bound = await live(state, runtime, self._manner.carry_out)
        shown, room, rate = self._conversation(state), state.room or bound.budget.prompt_tokens, state.chars_per_token
        keep = state.remembered.index(state.submission_turn) if state.submission_turn in state.remembered else None
        while (fitted := fit(shown, room, keep=keep, chars_per_token=rate)) is not None:
            try:
                reply = await ask(bound, fitted.messages)
            except ContextOverflow:
                shown, room = fitted, shrunk(estimate_tokens(fitted.messages, rate))
            else:
                learned = {"room": room} if room < bound.budget.prompt_tokens else {}
                return learned | _thought(state, fitted, reply)
        reason = f"the prompt doesn't fit {room} tokens however much is left out"
        return ended(EpisodeStatus.TOKEN_BUDGET, reason)

    def _conversation(self, state: ConversationState) -> Conversation:
        """The messages so far, less what was left out; faults since the last action are always shown."""
        faults = range(len(state.turns) - state.faults, len(state.turns)) if self._manner.forgets_faults else ()
        turns = tuple(state.turns[index] for index in (*state.remembered, *faults))
        return Conversation(
            state.opening, turns, state.dropped_observations, frozenset(state.dropped_replies), self._manner.respond
        )

    async def _act(self, state: ConversationState, runtime: Context) -> Update:
        """Carry out the reply's action and finish the turn."""
        bound = await live(state, runtime, self._manner.carry_out)
        if state.reply is None:
            raise ValueError("the state holds no reply to act on")
        bound.session.watch(state.reply.text)
        parsed = self._manner.parse(state.reply.text)
        update: Update = {"reply": None, "faults": 0}
        if isinstance(parsed, FormatFault):
            action, result = None, ToolResult(f"[format] {escape_control(plain_text(parsed.message))}")
            update["faults"] = state.faults + 1
        else:
            action = parsed
            try:
                result = await acted(bound, self._manner.carry_out(bound.session, state.turns, parsed))
            except InfraError as error:
                result = ToolResult("")
                update |= ended(EpisodeStatus.INFRA_ERROR, str(error))
        turn = self._turn(state, state.reply, action, result)
        bound.recorder.append(turn)
        update["turns"] = (*state.turns, turn)
        if action is not None or not self._manner.forgets_faults:
            update["remembered"] = (*state.remembered, turn.index)
        if result.submitted:
            update["submission_turn"] = turn.index
        return self._ending(action, update, bound.budget.turns) | update

    def _turn(self, state: ConversationState, reply: Reply, action: Action | None, result: ToolResult) -> Turn:
        last = self._manner.respond(state.turns[-1].observation) if state.turns else None
        return Turn(
            index=len(state.turns),
            messages=state.opening if last is None else (last,),
            reply=reply.text,
            action=action,
            format_ok=action is not None,
            step=result.step,
            observation=result.observation,
            usage=reply.usage,
            model_s=reply.seconds,
            tokens=reply.tokens,
            weight_version=reply.weight_version,
        )

    def _ending(self, action: Action | None, update: Update, turns: int) -> Update:
        """The status that this turn brings, if it is the last."""
        if action is not None and self._manner.ends_with(action):
            return ended(EpisodeStatus.ANSWERED)
        if update["faults"] >= self._manner.faults_in_a_row:
            faults = self._manner.faults_in_a_row
            return ended(EpisodeStatus.FORMAT_ABORT, f"{faults} replies in a row could not be parsed")
        if len(update["turns"]) >= turns:
            return ended(EpisodeStatus.MAX_TURNS, f"no answer in {turns} turns")
        return {}

    async def _finish(self, state: ConversationState, runtime: Context) -> Update:
        """Close and grade the session, where the graph opened it."""
        return await close_episode(state, runtime, self._manner.carry_out)


def _thought(state: ConversationState, fitted: Conversation, reply: Reply | Update) -> Update:
    """What the model said, or how the episode ended, and what the prompt left out: that stays out."""
    lasting = len(state.remembered)
    update: Update = {
        "dropped_observations": min(fitted.dropped_observations, lasting),
        "dropped_replies": tuple(sorted(place for place in fitted.dropped_replies if place < lasting)),
    }
    if isinstance(reply, dict):
        return update | reply
    if reply.usage.prompt_tokens:
        update["chars_per_token"] = sum(len(each.content) for each in fitted.messages) / reply.usage.prompt_tokens
    return update | {"reply": reply}


def _after_think(state: ConversationState) -> Literal["act", "finish"]:
    """Act on a reply; finish where the model call ended the episode."""
    return "act" if state.status is None else "finish"


def _after_act(state: ConversationState) -> Literal["think", "finish"]:
    """Think again until the episode has a status."""
    return "think" if state.status is None else "finish"
