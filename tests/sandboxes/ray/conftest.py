"""A cluster of two nodes of one core each on this machine, for the tests that are worth its cost."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

    from sandmle.sandboxes.ray import RayBackend


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[Cluster]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs pip install 'sandmle[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray.cluster_utils import Cluster

        size = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
        cluster.add_node(**size)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def cluster(two_nodes: Cluster, monkeypatch) -> Cluster:
    monkeypatch.setenv("RAY_ADDRESS", two_nodes.address)
    return two_nodes


@pytest.fixture
async def backend(cluster: Cluster) -> AsyncIterator[RayBackend]:
    from sandmle.sandboxes.ray import RayBackend

    async with RayBackend(allow_unisolated=True) as backend:
        yield backend
