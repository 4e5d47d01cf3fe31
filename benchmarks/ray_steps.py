"""What a step costs through Ray: the same steps in a local sandbox and in one of a cluster on this machine, in turns.

    pip install -e '.[ray]'
    python benchmarks/ray_steps.py [--rounds 50]

The cluster is started for the purpose, with one node. Prints the medians of the wall milliseconds and their difference.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable

from ray.cluster_utils import Cluster

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxBackend, SandboxSpec
from sandmle.sandboxes.ray import RayBackend

STEPS = {
    "empty step": "",
    "typical step": "import pandas\nfrom sklearn.linear_model import LogisticRegression\n"
    "LogisticRegression().fit([[0], [1]] * 100, [0, 1] * 100)",
}


async def clock(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that ``work`` takes."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def open_and_close(backend: SandboxBackend) -> None:
    """A sandbox's life without a step."""
    await (await backend.create(SandboxSpec())).aclose()


async def measure(rounds: int) -> dict[str, tuple[float, float]]:
    """Medians at home and through Ray, by what was done."""
    found: dict[str, list[list[float]]] = {}

    async def note(name: str, works: tuple[Callable[[], Awaitable[object]], ...]) -> None:
        for arm, work in enumerate(works):
            found.setdefault(name, [[], []])[arm].append(await clock(work))

    async with LocalBackend(concurrency=1, allow_unisolated=True) as home, RayBackend(allow_unisolated=True) as away:
        for _ in range(rounds):
            await note("create and close", tuple((lambda of=of: open_and_close(of)) for of in (home, away)))
        sandboxes: tuple[Sandbox, ...] = (await home.create(SandboxSpec()), await away.create(SandboxSpec()))
        for _ in range(rounds):
            for name, code in STEPS.items():
                await note(name, tuple((lambda of=of, code=code: of.run(code, timeout=60)) for of in sandboxes))
            data = bytes(1 << 20)
            await note("write 1 MiB", tuple((lambda of=of, data=data: of.write("data", data)) for of in sandboxes))
        for sandbox in sandboxes:
            await sandbox.aclose()
    return {name: (statistics.median(arms[0]), statistics.median(arms[1])) for name, arms in found.items()}


def main() -> None:
    """Start a cluster, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    os.environ["RAY_ADDRESS"] = cluster.address
    print(f"{'':20}{'local':>10}{'ray':>10}{'more':>10}   ms, median of {rounds}")
    for name, (home, away) in asyncio.run(measure(rounds)).items():
        print(f"{name:20}{home:10.1f}{away:10.1f}{away - home:10.1f}")


if __name__ == "__main__":
    main()
