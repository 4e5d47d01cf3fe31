"""How long steps take: a cold Python process against the local sandbox, side by side in one run.

    python benchmarks/sandbox.py [--rounds 10] [--json FILE]

Prints ratios, which hold across machines; the milliseconds they come from do not. Each round measures every arm once,
so that a busy machine slows all of them alike; a figure is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec
from sandmle.sandboxes._layout import base_environment, find_interpreter

TYPICAL = """
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 5)), columns=list("abcde"))
labels = table["a"] + table["b"] > 0
train, test, train_labels, test_labels = train_test_split(table, labels, random_state=0)
print(LogisticRegression().fit(train, train_labels).score(test, test_labels))
"""
SCRIPTS = {"typical step": TYPICAL, "empty step": "pass\n"}
Arm = Callable[[], Awaitable[None]]


def cold(folder: Path, code: str) -> Arm:
    """The script in a Python process of its own, with the environment that steps get."""
    environment = base_environment(find_interpreter(None), workspace=str(folder), home=str(folder))
    script = folder / f"step-{len(code)}.py"
    script.write_text(code)

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(script), env=environment, cwd=folder, stdout=subprocess.DEVNULL
        )
        if await process.wait():
            raise SystemExit(f"the cold process failed on: {code}")

    return run


def warm(sandbox: Sandbox, code: str) -> Arm:
    """The script as a step of ``sandbox``."""

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


async def measure(arms: dict[str, Arm], rounds: int) -> dict[str, float]:
    """Median milliseconds of each arm, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds + 1):
        for name, arm in arms.items():
            started = time.perf_counter()
            await arm()
            times[name].append(1000 * (time.perf_counter() - started))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def private_mib(pid: int) -> float:
    """MiB that a process shares with nobody, and its page tables."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup}
    tables = Path(f"/proc/{pid}/status").read_text().split("VmPTE:")[1].split()[0]
    return (sizes["Private_Clean"] + sizes["Private_Dirty"] + int(tables)) / 1024


async def idle_mib(backend: LocalBackend, count: int = 8) -> float:
    """Mean memory of a sandbox that has run a step and waits, over ``count`` of them."""
    sandboxes = [await backend.create(SandboxSpec()) for _ in range(count)]
    total = 0.0
    for sandbox in sandboxes:
        await warm(sandbox, TYPICAL)()
    for sandbox in sandboxes:
        outer = sandbox._channel.pid
        inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        total += sum(private_mib(pid) for pid in (outer, *map(int, inner)))
    await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))
    return total / count


async def benchmark(rounds: int) -> dict[str, object]:
    """All figures."""
    async with LocalBackend(allow_unisolated=True) as backend:
        tier = backend.capabilities.tier
        with tempfile.TemporaryDirectory() as folder:
            async with await backend.create(SandboxSpec()) as sandbox:
                arms: dict[str, Arm] = {"create and close": create(backend)}
                for name, code in SCRIPTS.items():
                    arms[f"cold {name}"] = cold(Path(folder), code)
                    arms[f"warm {name}"] = warm(sandbox, code)
                milliseconds = await measure(arms, rounds)
        memory = await idle_mib(backend)
    ratios = {f"cold / warm, {name}": milliseconds[f"cold {name}"] / milliseconds[f"warm {name}"] for name in SCRIPTS}
    ratios["create and close / cold empty step"] = milliseconds["create and close"] / milliseconds["cold empty step"]
    return {
        "tier": tier,
        "rounds": rounds,
        "ratios": ratios,
        "milliseconds": milliseconds,
        "MiB of an idle sandbox": memory,
    }


def show(figures: dict[str, object]) -> str:
    """The figures as a plain table."""
    lines = [f"tier {figures['tier']}, medians of {figures['rounds']} rounds"]
    for part in ("ratios", "milliseconds"):
        rows = figures[part]
        assert isinstance(rows, dict)
        lines += ["", part, *(f"  {name:<36}{value:>10.2f}" for name, value in rows.items())]
    return "\n".join([*lines, "", f"{'MiB of an idle sandbox':<38}{figures['MiB of an idle sandbox']:>10.2f}"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A cold Python process against the local sandbox.")
    parser.add_argument("--rounds", type=int, default=10, help="rounds to measure, at least 1")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    figures = asyncio.run(benchmark(max(1, options.rounds)))
    print(show(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
