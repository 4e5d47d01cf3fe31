"""The state of an episode."""

from __future__ import annotations

from sandmle.graphs.aide._journal import Journal, Node
from sandmle.graphs.episode import EpisodeState, Live

__all__ = ["AideState", "journal_of"]


class AideState(EpisodeState):
    """One episode so far.

    Attributes:
        preview: what the public files look like.
        nodes: the journal.
        parent: position of the node to improve or mend; None for a draft.
        pending: the node that was run and has yet to be reviewed.
        faults: replies that could not be read in a row, up to now.
        pruned: how many of the oldest solutions no longer fit the context.
    """

    preview: str = ""
    nodes: tuple[Node, ...] = ()
    parent: int | None = None
    pending: Node | None = None
    faults: int = 0
    pruned: int = 0


def journal_of(state: AideState, bound: Live) -> Journal:
    """The episode's journal; the direction of scores is the task's."""
    return Journal(state.nodes, lower_is_better=bound.session.task.manifest.lower_is_better)
