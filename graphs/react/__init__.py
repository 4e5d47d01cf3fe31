"""The ReAct scaffold as a LangGraph graph: think, act, read the response, until the answer.

    begin ──▶ think ──▶ act ──┐
                ▲  │          │
                │  └──▶ finish│ ◀── status set
                └─────────────┘

Each pass through ``think`` and ``act`` is one turn: one model call, one action (``sandmle.graphs.parsing``), one
observation. The loop is bounded by the turns in the state. A reply that can't be parsed gets a correction as its
observation and costs the turn; ``FAULTS_IN_A_ROW`` of them end the episode.

Two ways to run it:

- the runner calls ``ReActScaffold.rollout``, which binds its own model and session to the context;
- ``langgraph dev`` gives a JSON context (task folder, model, protocol, turns); then the graph opens its own session,
  replays it where a thread is resumed or forked, and puts the grade into the state at the end.
"""

from sandmle.graphs.react._context import ReactContext
from sandmle.graphs.react._graph import ReActScaffold, builder, graph
from sandmle.graphs.react._nodes import FAULTS_IN_A_ROW
from sandmle.graphs.react._state import ReactState

__all__ = ["FAULTS_IN_A_ROW", "ReActScaffold", "ReactContext", "ReactState", "builder", "graph"]
