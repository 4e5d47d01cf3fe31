"""Draws the graphs of this folder from the code: ``python docs/graphs/draw.py`` (needs ``pip install mermaidx``)."""

from __future__ import annotations

from pathlib import Path

import mermaidx

from sandmle.graphs.aide import graph as aide
from sandmle.graphs.react import graph as react
from sandmle.graphs.synthesis import graph as synthesis

HERE = Path(__file__).parent
GRAPHS = {"synthesis": synthesis, "react": react, "aide": aide}

for name, graph in GRAPHS.items():
    text = graph.get_graph().draw_mermaid()
    (HERE / f"{name}.mmd").write_text(text)
    (HERE / f"{name}.png").write_bytes(mermaidx.render(text).png())
