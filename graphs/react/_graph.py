"""The graph's wiring, and the scaffold that the runner drives."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from sandmle.agents.session import AgentSession
from sandmle.graphs.react import _nodes
from sandmle.graphs.react._context import Live, ReactContext
from sandmle.graphs.react._state import ReactState
from sandmle.graphs.scaffold import Budget, Outcome, register
from sandmle.trajectory import EpisodeStatus, Turn

__all__ = ["ReActScaffold", "builder", "graph"]


def builder() -> StateGraph[ReactState, ReactContext, ReactState, ReactState]:
    """The uncompiled graph, for callers that compile it with a checkpointer of their own."""
    build = StateGraph(ReactState, context_schema=ReactContext)
    for node in (_nodes.begin, _nodes.think, _nodes.act, _nodes.finish):
        build.add_node(node.__name__, node)
    build.add_edge(START, "begin")
    build.add_edge("begin", "think")
    build.add_conditional_edges("think", _nodes.after_think)
    build.add_conditional_edges("act", _nodes.after_act)
    build.add_edge("finish", END)
    return build


graph: CompiledStateGraph[ReactState, ReactContext, ReactState, ReactState] = builder().compile(name="react")


class ReActScaffold:
    """One thought and one action a turn."""

    name = "react"

    async def rollout(
        self, model: BaseChatModel, session: AgentSession, budget: Budget, *, recorder: list[Turn]
    ) -> Outcome:
        """See ``sandmle.graphs.scaffold.Scaffold.rollout``."""
        context = ReactContext.bound_to(Live(model, session, budget, recorder))
        result: dict[str, Any] = await graph.ainvoke(ReactState(), context=context)
        final = ReactState.model_validate(result)
        status = final.status or EpisodeStatus.INTERNAL_ERROR
        return Outcome(status, final.reason, final.turns, final.conversation.pruned)


register(ReActScaffold())
