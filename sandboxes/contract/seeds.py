"""Random numbers of steps: the same seed draws the same, in any sandbox; without one, chance does."""

from __future__ import annotations

from sandmle.sandboxes._protocol import Sandbox, SandboxBackend
from sandmle.sandboxes.contract._check import cell, check, expect, script, stateful

__all__: list[str] = []

_DRAW = """
import random
import numpy as np
from sklearn.ensemble import RandomForestRegressor
print(random.random(), np.random.random(), np.random.default_rng().random(), end=" ")
X = np.arange(40.0).reshape(20, 2) % 7
print(RandomForestRegressor(3).fit(X, X[:, 0] * X[:, 1]).predict(X).sum())
"""
_KINDS = ("random", "numpy.random", "numpy's default_rng()", "a forest")


@check()
async def scripts(backend: SandboxBackend) -> None:
    """A script's generators start from its seed, whatever ran before and in whichever sandbox."""
    async with script(backend) as one, script(backend) as other:
        first = await _drawn(one, "a")
        expect(await _drawn(one, "a") == first, "the same seed drew different numbers in two steps")
        expect(await _drawn(other, "a") == first, "the same seed drew different numbers in two sandboxes")
        _expect_others(first, await _drawn(one, "b"), "two seeds")
        _expect_others(await _drawn(one, None), await _drawn(other, None), "two sandboxes without a seed")


@check()
async def own_modules(backend: SandboxBackend) -> None:
    """A file of the workspace that is named like a library breaks no seeded script."""
    async with script(backend) as sandbox:
        for name in ("random.py", "numpy.py", "sitecustomize.py"):
            await sandbox.write(name, b"raise SystemExit('not this')")
        await sandbox.write("helper.py", b"number = 7")
        result = await sandbox.run("import helper\nprint(helper.number)", timeout=60, seed="a")
        expect(result.output == "7\n", f"expected 7, got {result.output[-300:]!r}")


_WORKERS = """
import os
import numpy as np
for _ in range(2):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, repr(float(np.random.default_rng().random())).encode())
        os._exit(0)
    os.wait()
    print(os.read(reader, 99).decode())
"""


@check()
async def workers(backend: SandboxBackend) -> None:
    """Processes that a seeded script forks draw each their own numbers, as without a seed."""
    async with script(backend) as sandbox:
        result = await sandbox.run(_WORKERS, timeout=60, seed="a")
        found = result.output.split()
        expect(result.status == "ok" and len(found) == 2, f"expected two numbers, got {result.output[-300:]!r}")
        expect(found[0] != found[1], "two workers drew the same number")


@check(stateful)
async def odd_modules(backend: SandboxBackend) -> None:
    """A cell that spoils libraries does not end the seeded cells after it."""
    async with cell(backend) as sandbox:
        await sandbox.run("import sys\nsys.modules['torch'] = None\nkept = 7", timeout=60, seed="a")
        result = await sandbox.run("print(kept)", timeout=60, seed="b")
        expect(result.output == "7\n", f"expected 7, got {result.status}: {result.output[-300:]!r}")


@check(stateful)
async def cells(backend: SandboxBackend) -> None:
    """A cell with a seed starts from it; the next, without one, goes on from there."""
    async with cell(backend) as one, cell(backend) as other:
        for sandbox in (one, other):
            await _drawn(sandbox, None)  # libraries that a cell imports may draw too
        first = [await _drawn(one, "a"), await _drawn(one, None)]
        _expect_others(first[0], first[1], "two cells of one stream")
        await _drawn(other, "b")
        expect([await _drawn(other, "a"), await _drawn(other, None)] == first, "a seed drew other numbers in a cell")


@check(stateful)
async def forks(backend: SandboxBackend) -> None:
    """Forks of a seeded cell draw numbers of their own, the same ones whenever all is done again."""
    drawn = []
    for _ in range(2):
        async with cell(backend) as sandbox:
            for seed in (None, "a"):
                await _drawn(sandbox, seed)
            children = await sandbox.fork(2)
            try:
                drawn.append([await _drawn(child, None) for child in children])
            finally:
                for child in children:
                    await child.aclose()
    one, other = drawn[0]
    _expect_others(one, other, "two forks")
    expect(drawn[0] == drawn[1], "forks of cells with the same seed drew different numbers")


async def _drawn(sandbox: Sandbox, seed: str | None) -> list[str]:
    result = await sandbox.run(_DRAW, timeout=120, seed=seed)
    expect(result.status == "ok", f"expected status ok, got {result.status}: {result.output.strip()[-300:]!r}")
    return result.output.split()


def _expect_others(one: list[str], other: list[str], what: str) -> None:
    for kind, left, right in zip(_KINDS, one, other, strict=True):
        expect(kind == "a forest" or left != right, f"{kind} drew the same in {what}")
