"""A graph as numbers: of its nodes (place, neighbours, neighbours' labels), or of pairs of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.links import link_features
from sandmle.eval.acceptance.search.targets import read_target

__all__ = ["graph_features"]

MAX_LEVELS = 8
DAMPING = 0.85


def graph_features(facts: Facts, both: pd.DataFrame, n_train: int, root: Path) -> tuple[list[str], list[pd.DataFrame]]:
    """The columns of ``both`` that name nodes, and the features: of nodes, or of links where two columns name nodes."""
    nodes, edges = pd.read_csv(root / "nodes.csv", dtype=str), pd.read_csv(root / "edges.csv", dtype=str)
    key = nodes.columns[0]
    names = {name: i for i, name in enumerate(nodes[key])}
    first, second = (edges[column].map(names) for column in edges.columns[:2])
    known = (first.notna() & second.notna()).to_numpy()
    a, b = first[known].to_numpy(np.int64), second[known].to_numpy(np.int64)
    pairs = sparse.coo_matrix((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(len(nodes), len(nodes)))
    links = (pairs.tocsr() > 0).astype(np.float64)
    links.setdiag(0)
    links.eliminate_zeros()
    own = own_features(nodes.drop(columns=key))
    place = place_features(links)
    for name in edges.columns[2:]:
        place |= edge_sums(name, edges[name][known], a, b, len(nodes))
    directed = sparse.coo_matrix((np.ones(len(a)), (a, b)), shape=links.shape).tocsr()
    place["place/out less in"] = np.asarray(directed.sum(axis=1)).ravel() - np.asarray(directed.sum(axis=0)).ravel()
    ends = [str(c) for c in both if both[c].astype(str).isin(names.keys()).all()]
    if facts.id_column in ends:
        index = both[facts.id_column].astype(str).map(names).to_numpy(int)
        columns = {f"own/{name}": values for name, values in own.items()} | place | neighbour_features(links, own)
        columns |= label_features(facts, links, both, index, n_train)
        frame = pd.DataFrame({f"node {name}": values[index] for name, values in columns.items()}, index=both.index)
        return ends, [frame]
    if len(ends) >= 2:
        index = np.column_stack([both[c].astype(str).map(names).to_numpy(int) for c in ends[:2]])
        return ends[:2], [link_features(links, own, place, index)]
    return ends, []


def own_features(nodes: pd.DataFrame) -> dict[str, Array]:
    """Numbers as they are, and one 0/1 column per level of the others."""
    found: dict[str, Array] = {}
    for name, values in nodes.items():
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.notna().sum() >= 0.9 * values.notna().sum():
            found[str(name)] = numbers.fillna(numbers.median()).to_numpy(np.float64)
        else:
            for level in values.value_counts().index[:MAX_LEVELS]:
                found[f"{name} {level}"] = (values == level).to_numpy(np.float64)
    return found


def place_features(links: Any) -> dict[str, Array]:  # noqa: ANN401 - a sparse matrix
    """Degree, triangles, PageRank, core number, component, and how well the neighbours are connected."""
    degree = np.asarray(links.sum(axis=1)).ravel()
    safe = np.maximum(degree, 1)
    two = links @ links
    triangles = np.asarray(links.multiply(two).sum(axis=1)).ravel() / 2
    found = {"place/degree": degree, "place/log degree": np.log1p(degree), "place/triangles": triangles}
    found["place/clustering"] = np.where(degree > 1, 2 * triangles / np.maximum(degree * (degree - 1), 1), 0)
    found["place/neighbours' degree"] = links @ degree / safe
    found["place/two steps"] = np.asarray((two > 0).sum(axis=1)).ravel() - 1.0 - degree
    rank = np.full(len(degree), 1 / len(degree))
    for _ in range(40):
        rank = (1 - DAMPING) / len(degree) + DAMPING * (links @ (rank / safe))
    found["place/rank"] = np.log(rank * len(degree))
    central = np.full(len(degree), 1.0)
    for _ in range(30):
        central = links @ central + 0.1
        central = central / central.max()
    found["place/centrality"] = central
    _, part = csgraph.connected_components(links, directed=False)
    found["place/component"] = np.log(np.bincount(part)[part])
    found["place/core"] = cores(links)
    largest = np.bincount(part).argmax()
    starts = np.flatnonzero(part == largest)
    some = starts[np.linspace(0, len(starts) - 1, min(40, len(starts))).astype(int)]
    steps = csgraph.shortest_path(links, unweighted=True, indices=some)
    found["place/closeness"] = (1 / (1 + np.where(np.isfinite(steps), steps, 12))).mean(axis=0)
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def cores(links: Any) -> Array:  # noqa: ANN401 - a sparse matrix
    """The core number of each node."""
    left = np.asarray(links.sum(axis=1)).ravel().astype(int)
    core, alive, level = np.zeros(len(left)), np.ones(len(left), dtype=np.bool_), 0
    while alive.any():
        level = max(level, int(left[alive].min()))
        gone = alive & (left <= level)
        core[gone], alive[gone] = level, False
        left = left - np.asarray(links[:, np.flatnonzero(gone)].sum(axis=1)).ravel().astype(int)
    return core


def edge_sums(name: str, values: pd.Series, a: NDArray[np.int64], b: NDArray[np.int64], count: int) -> dict[str, Array]:
    """What a column of the edges adds up to at each node: sum and mean of numbers, counts of levels."""
    ends = np.r_[a, b]
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().all():
        both = np.r_[numbers.to_numpy(np.float64), numbers.to_numpy(np.float64)]
        total, number = np.bincount(ends, both, count), np.maximum(np.bincount(ends, minlength=count), 1)
        return {f"place/{name} sum": np.asarray(total, np.float64), f"place/{name} mean": total / number}
    found: dict[str, Array] = {}
    for level in values.value_counts().index[:MAX_LEVELS]:
        here = (values == level).to_numpy(np.float64)
        found[f"place/{name} {level}"] = np.asarray(np.bincount(ends, np.r_[here, here], count), np.float64)
    return found


def neighbour_features(links: Any, own: dict[str, Array]) -> dict[str, Array]:  # noqa: ANN401 - a sparse matrix
    """The neighbours' own features: mean, largest, smallest, spread; two steps away; and the node against them."""
    degree = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1)
    rows, cols = links.nonzero()
    found: dict[str, Array] = {}
    for name, values in own.items():
        mean = links @ values / degree
        found[f"near/{name} mean"] = mean
        found[f"near/{name} two steps"] = links @ mean / degree
        found[f"against/{name}"] = values - mean
        found[f"near/{name} sum"] = links @ values
        if len(set(values[:50])) <= 2:
            continue
        high, low = values.copy(), values.copy()
        np.maximum.at(high, rows, values[cols])
        np.minimum.at(low, rows, values[cols])
        found[f"near/{name} largest"], found[f"near/{name} smallest"] = high, low
        found[f"near/{name} spread"] = np.sqrt(np.maximum(links @ values**2 / degree - mean**2, 0))
        larger = (values[cols] > values[rows]).astype(np.float64)
        found[f"against/{name} share larger"] = np.bincount(rows, larger, len(values)) / degree
        found[f"against/{name} distance"] = np.bincount(rows, np.abs(values[cols] - values[rows]), len(values)) / degree
    return found


def label_features(
    facts: Facts,
    links: Any,  # noqa: ANN401 - a sparse matrix
    both: pd.DataFrame,
    index: NDArray[np.int64],
    n_train: int,
) -> dict[str, Array]:
    """Training labels of the neighbours, and of their neighbours but for the node itself; drawn to the mean if few."""
    y = read_target(facts, both.iloc[:n_train].astype({facts.target: str})).y
    known, values = np.zeros(links.shape[0]), np.zeros((links.shape[0], y.shape[1]))
    known[index[:n_train]], values[index[:n_train]] = 1.0, y - y.mean(axis=0)
    # Walks that come back to where they began would hand a node its own label.
    two = (links @ links).tolil()
    two.setdiag(0)
    two = two.tocsr()
    found = {"labels/known near": links @ known}
    for k in range(y.shape[1]):
        near, far = links @ values[:, k], two @ values[:, k]
        found[f"labels/near {k}"] = near / (links @ known + 1.0)
        found[f"labels/far {k}"] = far / (two @ known + 2.0)
        found[f"labels/both {k}"] = (near + 0.3 * far) / (links @ known + 0.3 * (two @ known) + 1.0)
    return found
