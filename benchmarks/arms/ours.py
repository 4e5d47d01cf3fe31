"""The local sandbox: steps, and the making of sandboxes, forks and snapshots."""

from __future__ import annotations

import asyncio
import time

from arms.cold import Arm
from arms.scripts import BOMB, CELLS, SPIN
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec

__all__ = ["create", "fork", "forked_state", "snapshot_and_restore", "step", "timeout_costs"]

Samples = dict[str, list[float]]


def step(sandbox: Sandbox, code: str) -> Arm:
    """A script, or a cell where the sandbox is stateful."""

    async def run() -> None:
        result = await sandbox.run(code, timeout=120)
        if result.status != "ok":
            raise SystemExit(f"the step failed: {result.output}")

    return run


def create(backend: LocalBackend) -> Arm:
    """Making and closing a sandbox."""

    async def run() -> None:
        await (await backend.create(SandboxSpec())).aclose()

    return run


def fork(sandbox: Sandbox, n: int) -> Arm:
    """``n`` forks, made and closed, each having run an empty step."""

    async def run() -> None:
        children = await sandbox.fork(n)
        await asyncio.gather(*(step(child, "pass\n")() for child in children))
        await asyncio.gather(*(child.aclose() for child in children))

    return run


def snapshot_and_restore(sandbox: Sandbox) -> Arm:
    """A snapshot, a step, and back."""

    async def run() -> None:
        async with await sandbox.snapshot() as kept:
            await step(sandbox, "pass\n")()
            await sandbox.restore(kept)
            await step(sandbox, "pass\n")()

    return run


async def forked_state(backend: LocalBackend, rounds: int) -> Samples:
    """Seconds of eight cells run again, and of a fork that has them: until it is there; until its first cell ends."""
    found: Samples = {"replay of 8 cells": [], "fork of 8 cells": [], "fork of 8 cells and first cell": []}
    spec = SandboxSpec(stateful=True)
    async with await backend.create(spec) as parent:
        for cell in CELLS:
            await step(parent, cell)()
        for _ in range(rounds):
            async with await backend.create(spec) as again:
                started = time.perf_counter()
                for cell in CELLS:
                    await step(again, cell)()
                found["replay of 8 cells"].append(time.perf_counter() - started)
            started = time.perf_counter()
            (child,) = await parent.fork(1)
            found["fork of 8 cells"].append(time.perf_counter() - started)
            await step(child, "assert len(p) == len(q)\n")()
            found["fork of 8 cells and first cell"].append(time.perf_counter() - started)
            if child.origin != "forked":
                raise SystemExit("the state could not be forked")
            await child.aclose()
    return found


async def timeout_costs(backend: LocalBackend, rounds: int, limit: float = 1.0) -> Samples:
    """Seconds beyond its limit that a step takes which has to be ended, spinning or as a bomb of 256 processes."""
    found: Samples = {"spin": [], "fork bomb": []}
    async with await backend.create(SandboxSpec(limits=SandboxLimits(processes=256))) as sandbox:
        for _ in range(rounds):
            for name, code in (("spin", SPIN), ("fork bomb", BOMB)):
                started = time.perf_counter()
                result = await sandbox.run(code, timeout=limit)
                found[name].append(time.perf_counter() - started - limit)
                if result.status != "timeout":
                    raise SystemExit(f"{name}: {result.status} {result.output}")
                await step(sandbox, "pass\n")()
    return found
