"""Graphs: what tasks on nodes and tasks on pairs of nodes have in common.

Vocabulary:
    feature     a numeric column of nodes.csv; members of a community resemble each other in it
    category    one more column of nodes.csv, with a few levels
    tie         an edge that a node starts; a meeting is an edge to a neighbour's neighbour, which closes a triangle
    reading     a factor that is computed from features and edges
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from sandmle.agents.procedural.kinds._kind import PublicColumn, PublicFile
from sandmle.agents.procedural.lexicon import Domain, GraphMedium
from sandmle.agents.procedural.schema import CategoricalColumn, NumericColumn
from sandmle.errors import SandmleError
from sandmle.record import Record

__all__ = [
    "HIDDEN_TERMS",
    "Feature",
    "Network",
    "draw_category",
    "draw_network",
    "feature_columns",
    "graph_columns",
    "graph_files",
    "graph_medium",
    "graph_sentences",
]

HIDDEN_TERMS = (
    "band",
    "difference",
    "hinge",
    "interaction",
    "level_slope",
    "linear",
    "optimum",
    "saturation",
)
"""The kinds of hidden terms that suit factors of a graph. Most read one factor: that factor is what is hidden."""
MIDDLE = (0.8, 1.0, 1.2)


class Feature(Record):
    """A feature; ``(x - center) / scale``, of its logarithm where lognormal, has about zero mean and unit spread."""

    name: str
    low: float
    high: float
    decimals: int
    law: Literal["normal", "uniform", "lognormal"]
    center: float
    scale: float


class Network(Record):
    """Settings of the templates that draw and read a graph.

    Attributes:
        levels: of the category.
        ties: median number of edges that a node starts.
        meetings: mean number of edges from a node to neighbours of its neighbours.
        ends: the two columns of edges.csv.
    """

    features: tuple[Feature, ...]
    category: str
    levels: tuple[str, ...]
    ties: float
    meetings: float
    ends: tuple[str, str]

    def crowding(self) -> float:
        """About the logarithm of its mean number of neighbours over that of ``ties`` 3 and ``meetings`` 1.5."""
        return math.log((1.1 * self.ties + self.meetings) / 4.8)


def graph_medium(domain: Domain) -> GraphMedium:
    """The domain's words for a graph."""
    if domain.media.graph is None:
        raise SandmleError(f"the domain {domain.slug} has no graph")
    return domain.media.graph


def feature_columns(domain: Domain) -> tuple[NumericColumn, ...]:
    """The features of the nodes, with at most six significant digits."""
    table = {column.name: column for column in domain.numeric}
    entries = [table[entry] if isinstance(entry, str) else entry for entry in graph_medium(domain).features]
    return tuple(
        NumericColumn(
            **{key: getattr(entry, key) for key in ("name", "unit", "description", "low", "high", "shape")},
            decimals=max(min(entry.decimals, 6 - len(str(int(abs(entry.high))))), 0),
        )
        for entry in entries
    )


def draw_category(rng: np.random.Generator, domain: Domain) -> CategoricalColumn:
    """A category of the domain with few levels, about equally frequent."""
    entries = [entry for entry in domain.categorical if len(entry.levels) <= 6]
    entry = entries[int(rng.integers(len(entries)))]
    share = round(1 / len(entry.levels), 4)
    weights = (*[share] * (len(entry.levels) - 1), round(1 - share * (len(entry.levels) - 1), 4))
    return CategoricalColumn(name=entry.name, description=entry.description, levels=entry.levels, weights=weights)


def draw_network(rng: np.random.Generator, domain: Domain, category: CategoricalColumn) -> Network:
    """How dense the graph is, and its columns."""
    return Network(
        features=tuple(_feature(column) for column in feature_columns(domain)),
        category=category.name,
        levels=category.levels,
        ties=round(3.0 * MIDDLE[int(rng.integers(3))], 2),
        meetings=round(1.5 * MIDDLE[int(rng.integers(3))], 2),
        ends=graph_medium(domain).edge_columns,
    )


def graph_files(domain: Domain) -> tuple[PublicFile, ...]:
    """The two files of a graph."""
    medium = graph_medium(domain)
    return (
        PublicFile("nodes.csv", f"all {medium.nodes} of the graph, one a row"),
        PublicFile(
            "edges.csv", f"the edges of the graph, one a row, each between two {medium.nodes}; no edge comes twice"
        ),
    )


def graph_sentences(domain: Domain) -> str:
    """What the graph is, and what an edge stands for."""
    medium = graph_medium(domain)
    return (
        f"{medium.description} form one graph, `nodes.csv` and `edges.csv`. An edge between two {medium.nodes} stands"
        f" for {medium.edge}; it has no direction."
    )


def graph_columns(domain: Domain, category: str) -> tuple[PublicColumn, ...]:
    """The lines of the data dictionary on nodes.csv and edges.csv."""
    medium = graph_medium(domain)
    (levels,) = (entry for entry in domain.categorical if entry.name == category)
    return (
        PublicColumn(domain.id.column, "id", f"Unique number of the {medium.node}", "nodes.csv"),
        *(
            PublicColumn(
                column.name, f"number ({column.unit})" if column.unit else "number", column.description, "nodes.csv"
            )
            for column in feature_columns(domain)
        ),
        PublicColumn(category, f"category: {', '.join(levels.levels)}", levels.description, "nodes.csv"),
        *(
            PublicColumn(
                name, "id", f"Number of {which} {medium.node} of the edge; the order has no meaning", "edges.csv"
            )
            for name, which in zip(medium.edge_columns, ("one", "the other"), strict=True)
        ),
    )


def _feature(column: NumericColumn) -> Feature:
    scaled = column.scaled()
    return Feature(
        name=column.name,
        low=max(column.low, 10.0**-column.decimals) if column.log else column.low,
        high=column.high,
        decimals=column.decimals,
        law=column.shape,
        center=scaled.center,
        scale=scaled.scale,
    )
