"""Pairs of nodes of a graph: whether two nodes belong together follows from both and from what lies between them.

Vocabulary:
    plain     distance and sum of a feature of both nodes, how many neighbours they have and share, whether they are
              neighbours themselves, whether they are of the same category
    hidden    what their neighbourhoods have to do with each other: bridges, features around them, triangles, hubs

Labels come from the rule, not from edges that were taken out, so that the Bayes score is known. The graph depends on
the test seed alone; the training seed says which of the other pairs are labelled. No factor depends on which node of
a pair comes first.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds._kind import Brief, Factors, PublicColumn, TaskKind, register
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
from sandmle.agents.procedural.lexicon import BinaryTarget, Domain, Target
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn, TableSchema
from sandmle.record import Record
from sandmle.task import ProblemType, StructuralDNA

__all__ = ["LinkReading", "Links", "LinksContent"]

How = Literal[
    "gap",
    "sum",
    "count_sum",
    "tied",
    "same",
    "count_gap",
    "product",
    "around",
    "fit",
    "shared",
    "bridges",
    "triangles",
    "hubs",
    "mix",
]
WORDS: dict[How, str] = {
    "gap": "distance in {} between the two",
    "sum": "sum of {} of the two",
    "count_sum": "sum of the logarithms of their neighbour counts",
    "tied": "whether they are neighbours",
    "same": "whether they are of the same category",
    "count_gap": "distance between the logarithms of their neighbour counts",
    "product": "product of {} of the two",
    "around": "distance in mean {} between their neighbours",
    "fit": "distance in {} between each and the other's neighbours",
    "shared": "root of the share of neighbours in common",
    "bridges": "edges between their neighbours beyond what neighbour counts expect",
    "triangles": "how much the neighbours of each are connected",
    "hubs": "distance in how connected their neighbours are",
    "mix": "distance between the categories of their neighbours",
}
PLAIN: tuple[How, ...] = ("gap", "sum")
PLACE: tuple[How, ...] = ("count_sum", "count_gap", "shared")
FLAGS: tuple[How, ...] = ("tied", "same")
OF_FEATURE: tuple[How, ...] = ("product", "around", "fit")
OF_PLACE: tuple[How, ...] = ("bridges", "triangles", "hubs", "mix")
USUAL: dict[How, tuple[float, float]] = {
    "gap": (1.08, 0.84),
    "sum": (0.0, 1.55),
    "count_sum": (4.35, 0.72),
    "count_gap": (0.57, 0.45),
    "product": (0.15, 1.1),
    "around": (0.46, 0.38),
    "fit": (0.83, 0.48),
    "shared": (0.25, 0.18),
    "bridges": (0.28, 0.25),
    "triangles": (0.77, 0.17),
    "hubs": (0.16, 0.13),
    "mix": (0.38, 0.17),
}
"""About the mean and spread of the factors in the graphs and pairs that the generator draws."""
HIDDEN_COUNT = 4


class LinkReading(Record):
    """One factor: ``how`` it is read, and of which feature (none for a place in the graph)."""

    name: str
    how: How
    feature: str = ""


class LinksContent(Network):
    """Settings of the templates; ``node_column`` and ``node_prefix`` are of nodes.csv."""

    node_column: str
    node_prefix: str
    readings: tuple[LinkReading, ...]


@register
class Links(TaskKind):
    """Whether two nodes of a graph belong together."""

    name = "links"
    modality = "graph"
    problems: ClassVar = {"binary": 2}
    rows_apart: ClassVar[bool] = False

    def target(self, domain: Domain, problem: ProblemType) -> Target | None:
        """The question that the domain asks of two nodes."""
        if domain.media.graph is None:
            return None
        link = domain.media.graph.link
        return BinaryTarget(**dict(link), labels=("no", "yes"))

    def draw_factors(self, rng: np.random.Generator, domain: Domain, problem: Problem, dna: StructuralDNA) -> Factors:
        """Readings of both nodes and of what lies between them."""
        network = draw_network(rng, domain, draw_category(rng, domain))
        features = tuple(column.name for column in feature_columns(domain))
        plain, hidden = _draw_plain(rng, features), _draw_hidden(rng, features)
        flags = tuple(LinkReading(name=how, how=how) for how in FLAGS)
        readings = (*plain, *flags, *hidden)
        names = {part: tuple(reading.name for reading in part) for part in (plain, flags, hidden)}
        return Factors(
            table=TableSchema(
                id_column="pair_id", id_prefix="PAIR", columns=tuple(_column(reading, network) for reading in readings)
            ),
            grammar=RuleGrammar(
                easy=Part(share="easy", count=(2, 3), columns=(*names[plain], *names[flags])),
                hidden=Part(share="hidden", count=(1, 2), columns=(*names[hidden], *names[flags]), kinds=HIDDEN_TERMS),
                easy_share=(0.3, 0.6),
            ),
            content=LinksContent(
                **dict(network), node_column=domain.id.column, node_prefix=domain.id.prefix, readings=readings
            ),
        )

    def brief(self, blueprint: Blueprint) -> Brief:
        """Nodes, edges, pairs and what they are."""
        domain, category = blueprint.lexicon(), str(blueprint.content["category"])
        medium = graph_medium(domain)
        ends = tuple(
            PublicColumn(name, "id", f"Number of {which} {medium.node} of the pair; the order has no meaning")
            for name, which in zip(medium.edge_columns, ("one", "the other"), strict=True)
        )
        return Brief(
            item=(f"pair of {medium.nodes}", f"pairs of {medium.nodes}"),
            columns=(*ends, *graph_columns(domain, category)),
            files=graph_files(domain),
            paragraphs=(
                f"{graph_sentences(domain)} Training and test rows are pairs of {medium.nodes}, some with an edge"
                " between them and some without; no edge was taken out.",
            ),
        )


def _draw_plain(rng: np.random.Generator, features: tuple[str, ...]) -> tuple[LinkReading, ...]:
    """Three or four readings of features, the neighbour counts and what they share."""
    choices = [(how, feature) for how in PLAIN for feature in features]
    chosen = [choices[int(index)] for index in rng.permutation(len(choices))[: int(rng.integers(3, 5))]]
    readings = (LinkReading(name=f"{feature}_{how}", how=how, feature=feature) for how, feature in chosen)
    return (*readings, *(LinkReading(name=how, how=how) for how in PLACE))


def _draw_hidden(rng: np.random.Generator, features: tuple[str, ...]) -> tuple[LinkReading, ...]:
    kinds = (*OF_FEATURE, *OF_PLACE)
    found = []
    for index in rng.permutation(len(kinds))[:HIDDEN_COUNT]:
        how = kinds[int(index)]
        feature = features[int(rng.integers(len(features)))] if how in OF_FEATURE else ""
        found.append(LinkReading(name=f"{feature}_{how}" if feature else how, how=how, feature=feature))
    return tuple(found)


def _column(reading: LinkReading, network: Network) -> Column:
    words = WORDS[reading.how].format(reading.feature)
    if reading.how in FLAGS:
        return CategoricalColumn(name=reading.name, description=words, levels=("no", "yes"), weights=(0.6, 0.4))
    middle, spread = USUAL[reading.how]
    if reading.how == "count_sum":
        middle += 2 * network.crowding()
    return NumericColumn(
        name=reading.name,
        unit="",
        description=words,
        low=round(middle - 3 * spread, 4),
        high=round(middle + 3 * spread, 4),
        shape="normal",
        decimals=4,
    )
