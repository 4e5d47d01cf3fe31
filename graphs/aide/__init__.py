"""The AIDE scaffold: a tree of solutions; each is drafted, run, reviewed, and improved or mended.

    begin ──▶ select ──▶ write ──▶ review ──┐
                ▲          │         │      │
                │          ▼         ▼      │
                │        finish ◀── finish  │ ◀── status set
                └───────────────────────────┘

A solution costs two turns: the model writes plan and script, the script is run, the model reviews what it printed. What
counts is the solution with the best *validation* score that a reviewer read; its submission is made the last one at the
end. (Protocol ``dojo`` takes the best test score of all, by definition.) The direction of the score comes from the
task, not from the reviewer. Rules of the search are those of AIDE (``_journal``); its known faults (integer scores
taken for bugs, a flipped direction that ends the run, ``__main__`` blocks that never run, the last run's submission
instead of the best's) are not carried over.
"""

from sandmle.graphs.aide._graph import AideScaffold, graph
from sandmle.graphs.aide._journal import Journal, Node
from sandmle.graphs.aide._state import AideState

__all__ = ["AideScaffold", "AideState", "Journal", "Node", "graph"]
