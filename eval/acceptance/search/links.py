"""Pairs of nodes as numbers: what they share, how far apart they are, and how their own features compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csgraph

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["link_features"]

FAR = 7.0
DIRECTIONS = 8


def link_features(
    links: Any,  # noqa: ANN401 - a sparse matrix
    own: dict[str, Array],
    place: dict[str, Array],
    index: NDArray[np.int64],
) -> pd.DataFrame:
    """All features of pairs (n, 2) of node numbers."""
    u, v = index.T
    columns = structure(links, u, v) | steps_apart(links, u, v) | spectral(links, u, v)
    for name, values in place.items():
        x, y, key = values[u], values[v], name.partition("/")[2]
        columns |= {f"ends/{key} sum": x + y, f"ends/{key} difference": np.abs(x - y), f"ends/{key} product": x * y}
        columns |= {f"ends/{key} smaller": np.minimum(x, y)}
    degree = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1)
    scaled = []
    for name, values in own.items():
        x, y, near = values[u], values[v], links @ values / degree
        scaled.append((values - values.mean()) / (values.std() + 1e-9))
        columns |= {f"alike/{name} distance": np.abs(x - y), f"alike/{name} product": scaled[-1][u] * scaled[-1][v]}
        columns |= {f"alike/{name} sum": x + y, f"alike/{name} first": x, f"alike/{name} second": y}
        columns |= {f"alike/{name} smaller": np.minimum(x, y), f"alike/{name} difference": x - y}
        columns[f"alike/{name} near"] = np.abs(near[u] - near[v])
    if scaled:
        table = np.column_stack(scaled)
        size = np.sqrt((table**2).sum(axis=1)) + 1e-9
        columns["alike/cosine"] = (table[u] * table[v]).sum(axis=1) / (size[u] * size[v])
        columns["alike/distance"] = np.sqrt(((table[u] - table[v]) ** 2).sum(axis=1))
    return pd.DataFrame({f"link {name}": values for name, values in columns.items()}).astype(np.float64)


def structure(links: Any, u: NDArray[np.int64], v: NDArray[np.int64]) -> dict[str, Array]:  # noqa: ANN401
    """Shared neighbours, plain and weighted, and the usual indices made of them; a link between the two is left out."""
    degree = np.asarray(links.sum(axis=1)).ravel()
    direct = np.asarray(links[u, v]).ravel()
    shared = links[u].multiply(links[v]).tocsr()
    count = np.asarray(shared.sum(axis=1)).ravel()
    du, dv = degree[u] - direct, degree[v] - direct
    found = {"shared/number": count, "shared/linked": direct, "shared/log": np.log1p(count)}
    found["shared/jaccard"] = count / np.maximum(du + dv - count, 1)
    found["shared/cosine"] = count / np.sqrt(np.maximum(du * dv, 1))
    found["shared/of the smaller"] = count / np.maximum(np.minimum(du, dv), 1)
    found["shared/adamic adar"] = shared @ (1 / np.log(np.maximum(degree, 2)))
    found["shared/allocation"] = shared @ (1 / np.maximum(degree, 1))
    found["shared/attachment"] = np.log1p(du * dv)
    found["shared/three steps"] = np.asarray((links[u] @ links).multiply(links[v]).sum(axis=1)).ravel()
    found["shared/ties"] = found["shared/three steps"] / np.maximum(du * dv, 1)
    return found


def steps_apart(links: Any, u: NDArray[np.int64], v: NDArray[np.int64]) -> dict[str, Array]:  # noqa: ANN401
    """Least number of steps from one to the other, not counting their own link."""
    starts, back = np.unique(u, return_inverse=True)
    steps = csgraph.shortest_path(links, unweighted=True, indices=starts)[back, v]
    direct = np.asarray(links[u, v]).ravel() > 0
    for i in np.flatnonzero(direct):
        without = links[[u[i]]].tolil()
        without[0, v[i]] = 0
        reached = np.asarray((without.tocsr() @ links)[:, [v[i]]].todense()).ravel()[0] > 0
        steps[i] = 2.0 if reached else 3.0
    steps = np.where(np.isfinite(steps), np.minimum(steps, FAR), FAR)
    return {"distance/steps": steps, "distance/two": (steps == 2) * 1.0, "distance/far": (steps >= 4) * 1.0}


def spectral(links: Any, u: NDArray[np.int64], v: NDArray[np.int64]) -> dict[str, Array]:  # noqa: ANN401
    """Nearness in the main directions of the normalised graph (up to 4,000 nodes)."""
    if links.shape[0] > 4000 or links.shape[0] < 3 * DIRECTIONS:
        return {}
    root = 1 / np.sqrt(np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1))
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(links.shape[0], DIRECTIONS + 4))
    for _ in range(12):
        moved = (root[:, None] * (links @ (root[:, None] * basis)) + basis) / 2
        basis = np.linalg.qr(moved)[0]
    basis = basis[:, 1 : DIRECTIONS + 1] * np.sqrt(links.shape[0])
    size = np.sqrt((basis**2).sum(axis=1)) + 1e-9
    dot = (basis[u] * basis[v]).sum(axis=1)
    gap = np.sqrt(((basis[u] - basis[v]) ** 2).sum(axis=1))
    return {"distance/spectral": gap, "distance/cosine": dot / (size[u] * size[v]), "distance/product": dot}
