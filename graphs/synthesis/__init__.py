"""The synthesis graph: from a seed to a verified task.

``graph`` is the bare compiled graph that LangGraph Studio serves; ``synthesize`` runs it for a whole batch.
"""

from sandmle.graphs.synthesis.batch import Batch, BatchSettings, Progress, SlotRecord
from sandmle.graphs.synthesis.graph import builder, graph
from sandmle.graphs.synthesis.running import synthesize
from sandmle.graphs.synthesis.state import Rejection, Strictness, SynthesisContext, SynthesisState
from sandmle.graphs.synthesis.traits import REACHED, Traits

__all__ = [
    "REACHED",
    "Batch",
    "BatchSettings",
    "Progress",
    "Rejection",
    "SlotRecord",
    "Strictness",
    "SynthesisContext",
    "SynthesisState",
    "Traits",
    "builder",
    "graph",
    "synthesize",
]
