"""The synthesis graph: wiring only.

    Data Strategist -> ML Developer -> threshold check -> MLOps Engineer -> evaluator check -> Technical Writer
        -> brief check -> final verification -> novelty check -> human review -> publish

A check sends work back to the role that can mend it; when its attempts are used, or the role can't go on, the candidate
is rejected and the Strategist draws anew; when the slot's draws or its budget are used it is discarded.
"""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from sandmle.graphs.synthesis import nodes
from sandmle.graphs.synthesis.playing import over_budget
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
    made.add_node(nodes.brief_check)
    made.add_node(nodes.final_verification)
    made.add_node(nodes.novelty_check)
    made.add_node(nodes.human_review)
    made.add_node(nodes.reject)
    made.add_node(nodes.publish)
    made.add_node(nodes.discard)
    made.add_edge(START, "data_strategist")
    _after_role(made, "data_strategist", "ml_developer")
    _after_role(made, "ml_developer", "threshold_check")
    _after_check(made, "threshold_check", onward="mlops_engineer", retry="ml_developer")
    _after_role(made, "mlops_engineer", "evaluator_check")
    _after_check(made, "evaluator_check", onward="technical_writer", retry="mlops_engineer")
    _after_role(made, "technical_writer", "brief_check")
    _after_check(made, "brief_check", onward="final_verification", retry="technical_writer")
    _after_role(made, "final_verification", "novelty_check")
    _after_role(made, "novelty_check", "human_review")
    _after_role(made, "human_review", "publish")
    made.add_conditional_edges("reject", _draw_again, {"again": "data_strategist", "no draws left": "discard"})
    made.add_edge("publish", END)
    made.add_edge("discard", END)
    return made


def _after_check(made: Builder, check: str, *, onward: str, retry: str) -> None:
    made.add_conditional_edges(check, lambda state: state.route, {"onward": onward, "retry": retry, "reject": "reject"})


def _after_role(made: Builder, node: str, onward: str) -> None:
    made.add_conditional_edges(node, lambda state: state.route, {"onward": onward, "reject": "reject"})


def _draw_again(state: SynthesisState, runtime: Runtime[SynthesisContext]) -> str:
    more = state.draws < runtime.context.max_draws and not over_budget(state, runtime)
    return "again" if more else "no draws left"


graph = builder().compile(name="synthesis")
