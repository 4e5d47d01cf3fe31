from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.graphs.aide import graph as aide
from sandmle.graphs.react import graph as react
from sandmle.graphs.synthesis import graph as synthesis

DRAWINGS = Path(__file__).parents[2] / "docs" / "graphs"


@pytest.mark.parametrize(("name", "graph"), [("synthesis", synthesis), ("react", react), ("aide", aide)])
def test_the_committed_drawing_is_the_codes(name: str, graph: object) -> None:
    """Draw anew with ``python docs/graphs/draw.py`` when a graph changes."""
    assert (DRAWINGS / f"{name}.mmd").read_text() == graph.get_graph().draw_mermaid()
