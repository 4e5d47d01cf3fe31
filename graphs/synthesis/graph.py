"""The synthesis graph: wiring only.

    Data Strategist -> ML Developer -> threshold check -> MLOps Engineer -> evaluator check -> Technical Writer
        -> final verification -> novelty check -> publish

A check sends work back to the role that can mend it; when its attempts are used the candidate is rejected and the
Strategist draws anew; when the slot's draws are used it is discarded.
"""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from sandmle.graphs.synthesis import nodes
from sandmle.graphs.synthesis.state import SynthesisContext, SynthesisState

__all__ = ["builder", "graph"]

Builder = StateGraph[SynthesisState, SynthesisContext, SynthesisState, SynthesisState]


def builder() -> Builder:
    """The graph before compilation, so that a caller can add a checkpointer."""
    made = StateGraph(SynthesisState, context_schema=SynthesisContext)
    made.add_node(nodes.data_strategist)
    made.add_node(nodes.ml_developer)
    made.add_node(nodes.threshold_check)
    made.add_node(nodes.mlops_engineer)
    made.add_node(nodes.evaluator_check)
    made.add_node(nodes.technical_writer)
    made.add_node(nodes.final_verification)
    made.add_node(nodes.novelty_check)
    made.add_node(nodes.reject)
    made.add_node(nodes.publish)
    made.add_node(nodes.discard)
    made.add_edge(START, "data_strategist")
    made.add_edge("data_strategist", "ml_developer")
    made.add_edge("ml_developer", "threshold_check")
    _after_check(made, "threshold_check", onward="mlops_engineer", retry="ml_developer")
    made.add_edge("mlops_engineer", "evaluator_check")
    _after_check(made, "evaluator_check", onward="technical_writer", retry="mlops_engineer")
    made.add_edge("technical_writer", "final_verification")
    _after_check(made, "final_verification", onward="novelty_check", retry="technical_writer")
    made.add_conditional_edges("novelty_check", lambda state: state.route, {"onward": "publish", "reject": "reject"})
    made.add_conditional_edges("reject", _draw_again, {"again": "data_strategist", "no draws left": "discard"})
    made.add_edge("publish", END)
    made.add_edge("discard", END)
    return made


def _after_check(made: Builder, check: str, *, onward: str, retry: str) -> None:
    made.add_conditional_edges(check, lambda state: state.route, {"onward": onward, "retry": retry, "reject": "reject"})


def _draw_again(state: SynthesisState, runtime: Runtime[SynthesisContext]) -> str:
    return "again" if state.draws < runtime.context.max_draws else "no draws left"


graph = builder().compile(name="synthesis")
