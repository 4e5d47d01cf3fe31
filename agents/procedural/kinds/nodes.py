"""Nodes of a graph: the label of a node follows from its own features and from its place among its neighbours.

Vocabulary:
    plain     a node's own features, its category and how many neighbours it has
    hidden    what its neighbours are like: means, extremes and shares of their features, what lies two steps away,
              triangles, hubs

The graph is public as a whole and depends on the test seed alone; the training seed says which nodes are labelled.
Factors are computed from the published (rounded) data by the same code in the generator and in the informed baseline.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, TaskKind, register
from sandmle.agents.procedural.kinds._network import (
    HIDDEN_TERMS,
    Network,
    draw_category,
    draw_network,
    feature_columns,
    graph_columns,
    graph_files,
    graph_medium,
    graph_sentences,
)
from sandmle.agents.procedural.lexicon import Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import NumericColumn, TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["NodeReading", "Nodes", "NodesContent"]

How = Literal["mean", "top", "share", "contrast", "two_steps", "variety", "triangles", "hub", "same_level"]
OF_FEATURE: dict[How, str] = {
    "mean": "mean {} of the neighbours",
    "top": "largest {} among the neighbours",
    "share": "share of neighbours with more than the usual {}",
    "contrast": "mean {} of the neighbours less the node's own",
    "two_steps": "mean of the neighbours' means of {}",
    "variety": "spread of {} among the neighbours",
}
OF_PLACE: dict[How, str] = {
    "triangles": "root of the share of neighbours' pairs that are connected",
    "hub": "logarithm of the neighbour count of the most connected neighbour",
    "same_level": "share of neighbours of the same category",
}
USUAL: dict[How, tuple[float, float]] = {
    "mean": (0.0, 0.52),
    "top": (1.35, 0.75),
    "share": (0.5, 0.24),
    "contrast": (0.0, 0.92),
    "two_steps": (0.0, 0.34),
    "variety": (0.82, 0.26),
    "triangles": (0.36, 0.15),
    "hub": (2.93, 0.3),
    "same_level": (0.12, 0.22),
}
"""About the mean and spread of the factors in graphs with ``ties`` 3 and ``meetings`` 1.5 (and many levels)."""
HIDDEN_COUNT = 4


class NodeReading(Record):
    """One hidden factor: ``how`` it is read, and of which feature (none for a place in the graph)."""

    name: str
    how: How
    feature: str = ""


class NodesContent(Network):
    """Settings of the templates."""

    readings: tuple[NodeReading, ...]


@register
class Nodes(TaskKind):
    """Classes and numbers of the nodes of one graph."""

    name = "nodes"
    modality = "graph"
    problems: ClassVar = {"binary": 3, "multiclass": 2, "regression": 2}
    rows_apart: ClassVar[bool] = False

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """As everywhere, where the domain has a graph."""
        return super().target(domain, problem) if domain.media.graph else None

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Features and category, and readings of the neighbours."""
        features, category = feature_columns(domain), draw_category(rng, domain)
        network = draw_network(rng, domain, category)
        readings = _draw_readings(rng, tuple(column.name for column in features))
        count = _count(network)
        hidden = tuple(_column(reading, network) for reading in readings)
        names = tuple(column.name for column in hidden)
        return Factors(
            table=TableSchema(
                id_column=domain.id.column, id_prefix=domain.id.prefix, columns=(*features, category, count, *hidden)
            ),
            grammar=RuleGrammar(
                easy=Part(share="easy", count=(2, 3), columns=(*(c.name for c in features), category.name, count.name)),
                hidden=Part(share="hidden", count=(1, 2), columns=(*names, category.name), kinds=HIDDEN_TERMS),
                easy_share=(0.3, 0.6),
            ),
            content=NodesContent(**dict(network), readings=readings),
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """Nodes, edges and what they are."""
        domain, category = blueprint.lexicon(), str(blueprint.content["category"])
        medium = graph_medium(domain)
        return Brief(
            item=(domain.entity, domain.entities),
            columns=graph_columns(domain, category),
            files=graph_files(domain),
            paragraphs=(
                f"{graph_sentences(domain)} Training and test rows are {medium.nodes} of it, named by"
                f" `{domain.id.column}`; `nodes.csv` describes them and others, whose `{blueprint.problem.target}`"
                " nobody recorded.",
            ),
        )


def _draw_readings(rng: np.random.Generator, features: tuple[str, ...]) -> tuple[NodeReading, ...]:
    kinds = [*OF_FEATURE, *OF_PLACE]
    found = []
    for index in rng.permutation(len(kinds))[:HIDDEN_COUNT]:
        how = kinds[int(index)]
        feature = features[int(rng.integers(len(features)))] if how in OF_FEATURE else ""
        found.append(NodeReading(name=f"{feature}_{how}" if feature else how, how=how, feature=feature))
    return tuple(found)


def _count(network: Network) -> NumericColumn:
    middle, reach = 2.03 + network.crowding(), 3 * 0.52
    return NumericColumn(
        name="neighbour_count",
        unit="",
        description="neighbours",
        low=round(math.exp(middle - reach), 4),
        high=round(math.exp(middle + reach), 4),
        shape="lognormal",
        decimals=0,
    )


def _column(reading: NodeReading, network: Network) -> NumericColumn:
    middle, spread = USUAL[reading.how]
    if reading.how == "hub":
        middle += network.crowding()
    if reading.how == "same_level":
        middle += 0.85 / len(network.levels)
    words = OF_FEATURE.get(reading.how) or OF_PLACE[reading.how]
    return NumericColumn(
        name=reading.name,
        unit="",
        description=words.format(reading.feature),
        low=round(middle - 3 * spread, 4),
        high=round(middle + 3 * spread, 4),
        shape="normal",
        decimals=4,
    )
