"""The journal: every solution with its parent, and which of them to work on next.

The rules are those of AIDE (Weco AI's ``agent.search_policy``, ``journal.Node``): draft until there are enough drafts;
else with some probability debug a random failed leaf that was not debugged too often in a row; else improve the best;
with none to improve, draft.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, Literal

from sandmle.record import Record

__all__ = ["DEBUG_PROBABILITY", "DRAFTS", "MAX_DEBUG_DEPTH", "Journal", "Node", "Stage"]

DRAFTS = 5
DEBUG_PROBABILITY = 0.5
MAX_DEBUG_DEPTH = 3

Stage = Literal["draft", "improve", "debug"]


class Node(Record):
    """One solution and what came of it.

    Attributes:
        parent: position of the node that it improves or mends; None for a draft.
        run: 0-based number of its run among those of the session.
        output: what it printed, as the agent sees it.
        failed: whether the run itself ended badly or left no valid submission.
        is_buggy: ``failed``, or the reviewer says so, or the reviewer found no validation score.
        metric: the validation score that the reviewer read.
    """

    parent: int | None
    plan: str
    code: str
    run: int
    output: str = ""
    failed: bool = False
    is_buggy: bool = True
    analysis: str = ""
    metric: float | None = None
    wall_s: float = 0.0


class Journal:
    """The nodes of an episode in the order they were made."""

    def __init__(self, nodes: Sequence[Node], *, lower_is_better: bool) -> None:
        self.nodes = tuple(nodes)
        self._lower = lower_is_better

    def next(self, rng: random.Random) -> int | None:
        """Position of the node to improve or mend; None for a new draft.

        Args:
            rng: asked once for a number in [0, 1) and, where there is something to debug, once for a choice.
        """
        if sum(node.parent is None for node in self.nodes) < DRAFTS:
            return None
        if rng.random() < DEBUG_PROBABILITY:
            found = [
                place
                for place, node in enumerate(self.nodes)
                if node.is_buggy and self._is_leaf(place) and self.debug_depth(place) <= MAX_DEBUG_DEPTH
            ]
            if found:
                return rng.choice(found)
        return self.best()

    def best(self) -> int | None:
        """Position of the first node with the best validation score among those without a bug; None if all have one."""
        good = [(place, node.metric) for place, node in enumerate(self.nodes) if not node.is_buggy]
        scored = [(place, metric) for place, metric in good if metric is not None]
        if not scored:
            return good[0][0] if good else None
        sign = -1.0 if self._lower else 1.0
        return max(scored, key=lambda pair: sign * pair[1])[0]

    def stage(self, place: int) -> Stage:
        """What the node was made as."""
        parent = self.nodes[place].parent
        if parent is None:
            return "draft"
        return "debug" if self.nodes[parent].is_buggy else "improve"

    def debug_depth(self, place: int) -> int:
        """How many times in a row debugging led to the node."""
        depth = 0
        while self.stage(place) == "debug":
            depth += 1
            parent = self.nodes[place].parent
            assert parent is not None
            place = parent
        return depth

    def memory(self) -> list[str]:
        """The solutions without a bug in words, oldest first."""
        return [
            f"Design: {node.plan}\nResult: {node.analysis}\nValidation score: {node.metric:.6g}"
            for node in self.nodes
            if not node.is_buggy and node.metric is not None
        ]

    def to_json(self) -> str:
        """In the form of AIDE's own ``journal.json``: flat nodes, and a map from node to parent by id.

        Wall-clock times (``ctime``) are 0, for a journal is the same whenever it is made.
        """
        nodes = [self._as_original(place, node) for place, node in enumerate(self.nodes)]
        parents = {str(place): str(node.parent) for place, node in enumerate(self.nodes) if node.parent is not None}
        return json.dumps({"nodes": nodes, "node2parent": parents, "__version": "2"}, indent=2)

    def _as_original(self, place: int, node: Node) -> dict[str, Any]:
        return {
            "code": node.code,
            "plan": node.plan,
            "step": place,
            "id": str(place),
            "ctime": 0.0,
            "parent": None,
            "children": [],
            "_term_out": [node.output],
            "exec_time": node.wall_s,
            "exc_type": "RuntimeError" if node.failed else None,
            "exc_info": None,
            "exc_stack": None,
            "analysis": node.analysis,
            "metric": {"value": node.metric, "maximize": not self._lower},
            "is_buggy": node.is_buggy,
        }

    def _is_leaf(self, place: int) -> bool:
        return all(node.parent != place for node in self.nodes)
