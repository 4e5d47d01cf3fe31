"""Many at once: steps per second under one limit of running steps, and memory of those that run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from arms.cold import cold
from arms.ours import step
from arms.scripts import SCRIPTS
from sandmle.sandboxes import LocalBackend, SandboxSpec
from sandmle.sandboxes._layout import base_environment, find_interpreter

__all__ = ["memory_of_ours", "memory_of_the_cold", "steps_per_second"]

_HOLD = SCRIPTS["typical"] + "print('ready', flush=True)\nimport time; time.sleep(1000)\n"


async def steps_per_second(count: int, folder: Path, cold_each: int = 1, warm_each: int = 10) -> dict[str, float]:
    """Typical steps a second of ``count`` sandboxes and of as many cold processes; one runs at once a core."""
    cores = os.cpu_count() or 1
    async with LocalBackend(concurrency=cores, allow_unisolated=True) as backend:
        sandboxes = [await backend.create(SandboxSpec()) for _ in range(count)]
        warm = await _rate([step(sandbox, SCRIPTS["typical"]) for sandbox in sandboxes], warm_each, None)
        await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))
    slots = asyncio.Semaphore(cores)
    return {"ours": warm, "cold": await _rate([cold(folder, SCRIPTS["typical"])] * count, cold_each, slots)}


async def _rate(arms: list[Callable[[], Awaitable[None]]], each: int, slots: asyncio.Semaphore | None) -> float:
    async def repeat(arm: Callable[[], Awaitable[None]]) -> None:
        for _ in range(each):
            if slots is None:
                await arm()
            else:
                async with slots:
                    await arm()

    started = time.perf_counter()
    await asyncio.gather(*map(repeat, arms))
    return len(arms) * each / (time.perf_counter() - started)


async def memory_of_ours(count: int) -> dict[str, float]:
    """MiB of each of ``count`` sandboxes in the middle of a typical step: all of it, and that of the step alone."""
    async with LocalBackend(concurrency=count, allow_unisolated=True) as backend:
        sandboxes = [await backend.create(SandboxSpec()) for _ in range(count)]
        steps = [asyncio.create_task(sandbox.run(_HOLD, timeout=1000)) for sandbox in sandboxes]
        families = [_below(sandbox._body.channel.pid) for sandbox in sandboxes]
        while any(len(family) < 2 for family in families):
            await asyncio.sleep(0.1)
            families = [_below(sandbox._body.channel.pid) for sandbox in sandboxes]
        await asyncio.sleep(3 + 0.1 * count)
        whole = sum(_private_mib(family) for family in families) / count
        alone = sum(_private_mib(family[-1:]) for family in families) / count
        await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))
        await asyncio.gather(*steps, return_exceptions=True)
    return {"MiB of a sandbox that runs": whole, "MiB of a running child": alone}


async def memory_of_the_cold(count: int, folder: Path) -> dict[str, float]:
    """MiB of each of ``count`` cold processes in the middle of the same step."""
    environment = base_environment(find_interpreter(None), workspace=str(folder), home=str(folder))
    processes = []
    for _ in range(count):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _HOLD, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        while await process.stdout.readline() not in (b"ready\n", b""):
            pass
        processes.append(process)
    found = sum(_private_mib([process.pid]) for process in processes) / count
    for process in processes:
        process.kill()
        await process.wait()
    return {"MiB of a cold process": found}


def _below(pid: int) -> list[int]:
    """A process and all below it, outermost first."""
    found = [pid]
    for one in found:
        found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def _private_mib(pids: Iterable[int]) -> float:
    """MiB that processes share with nobody, and their page tables."""
    total = 0
    for pid in pids:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup}
        tables = Path(f"/proc/{pid}/status").read_text().split("VmPTE:")[1].split()[0]
        total += sizes["Private_Clean"] + sizes["Private_Dirty"] + int(tables)
    return total / 1024
