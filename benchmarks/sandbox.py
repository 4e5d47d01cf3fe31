"""How fast and how small sandboxes are: cold processes, bubblewrap and Jupyter against ours, side by side in one run.

    python benchmarks/sandbox.py [--rounds 10] [--crowd 32] [--json FILE]

What is not installed is left out: bubblewrap (``bwrap``), Jupyter (the extra ``bench``), torch.

Prints ratios against their targets. Ratios hold across machines; the milliseconds they come from do not. Each round
measures every arm once, so that a busy machine slows all of them alike; a figure is the median over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arms import cold, crowd, jupyter, ours, scripts
from arms.cold import Arm

from sandmle.sandboxes import LocalBackend, SandboxSpec

Figures = dict[str, dict[str, float]]
Target = tuple[str, Callable[[Figures], float], str, float]

TARGETS: tuple[Target, ...] = (
    ("typical step: cold / script", lambda f: f["ms"]["cold typical"] / f["ms"]["script typical"], ">=", 30),
    ("typical step: cold / script (goal)", lambda f: f["ms"]["cold typical"] / f["ms"]["script typical"], ">=", 50),
    ("empty step: script / python -c pass", lambda f: f["ms"]["script empty"] / f["ms"]["python -c pass"], "<=", 1.3),
    ("torch step: cold / script", lambda f: f["ms"]["cold torch"] / f["ms"]["script torch"], ">=", 25),
    (
        "8 cells: replay / fork",
        lambda f: f["state, ms"]["replay of 8 cells"] / f["state, ms"]["fork of 8 cells"],
        ">=",
        100,
    ),
    (
        "8 cells: replay / fork and first cell (beyond the target)",
        lambda f: f["state, ms"]["replay of 8 cells"] / f["state, ms"]["fork of 8 cells and first cell"],
        ">=",
        100,
    ),
    ("MiB of a running child", lambda f: f["memory"]["MiB of a running child"], "<=", 25),
    (
        "crowd: ours / cold steps a second",
        lambda f: f["steps a second"]["ours"] / f["steps a second"]["cold"],
        ">=",
        20,
    ),
    ("timeout, s beyond the limit", lambda f: f["timeout, ms"]["spin"] / 1000, "<=", 0.3),
    ("timeout of a fork bomb, s beyond the limit", lambda f: f["timeout, ms"]["fork bomb"] / 1000, "<=", 2.8),
)


async def measure(arms: dict[str, Arm], rounds: int) -> dict[str, float]:
    """Median milliseconds of each arm, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds + 1):
        for name, arm in arms.items():
            started = time.perf_counter()
            await arm()
            times[name].append(time.perf_counter() - started)
    return medians({name: values[1:] for name, values in times.items()})


def medians(samples: dict[str, list[float]]) -> dict[str, float]:
    """Median milliseconds of samples in seconds."""
    return {name: 1000 * statistics.median(values) for name, values in samples.items()}


async def steps_and_lives(backend: LocalBackend, folder: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of single steps in every arm, and of making sandboxes, forks and snapshots."""
    arms: dict[str, Arm | None] = {
        "python -c pass": cold.command([sys.executable, "-c", "pass"], folder),
        "create and close": ours.create(backend),
    }
    kernel = await jupyter.Kernel.start() if jupyter.Kernel.installed() else None
    async with (
        await backend.create(SandboxSpec()) as plain,
        await backend.create(SandboxSpec(stateful=True)) as stateful,
        await backend.create(SandboxSpec()) as parent,
        await backend.create(SandboxSpec(stateful=True)) as cells,
    ):
        for name, code in scripts.SCRIPTS.items():
            arms[f"cold {name}"] = cold.cold(folder, code)
            arms[f"bubblewrap {name}"] = cold.bubblewrap(folder, code)
            arms[f"jupyter start and first cell {name}"] = jupyter.first_cell(code) if kernel else None
            arms[f"jupyter next cell {name}"] = jupyter.next_cell(kernel, code) if kernel else None
            arms[f"script {name}"] = ours.step(plain, code)
            arms[f"cell {name}"] = ours.step(stateful, code)
        if importlib.util.find_spec("torch"):
            torch = await backend.create(SandboxSpec(image="torch"))
            arms["cold torch"] = cold.cold(folder, scripts.TORCH)
            arms["script torch"] = ours.step(torch, scripts.TORCH)
        for number in (1, 8):
            arms[f"fork({number}), first step, close"] = ours.fork(parent, number)
            arms[f"fork({number}) of cells, first cell, close"] = ours.fork(cells, number)
        arms["snapshot, step, restore, step"] = ours.snapshot_and_restore(parent)
        found = await measure({name: arm for name, arm in arms.items() if arm is not None}, rounds)
    if kernel is not None:
        await kernel.close()
    return found


async def benchmark(rounds: int, count: int) -> dict[str, Any]:
    """All figures."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with LocalBackend(allow_unisolated=True) as backend:
            tier = backend.capabilities.tier
            figures["ms"] = await steps_and_lives(backend, folder, rounds)
            figures["state, ms"] = medians(await ours.forked_state(backend, min(rounds, 3)))
            figures["timeout, ms"] = medians(await ours.timeout_costs(backend, min(rounds, 5)))
        figures["steps a second"] = await crowd.steps_per_second(count, folder)
        figures["memory"] = {
            **await crowd.memory_of_ours(count),
            **await crowd.memory_of_the_cold(min(count, 4), folder),
        }
    return {"tier": tier, "rounds": rounds, "sandboxes at once": count, "figures": figures, "targets": judge(figures)}


def judge(figures: Figures) -> list[dict[str, Any]]:
    """Every target that this run can tell of, with its figure and whether it is met."""
    verdicts = []
    for name, figure, sign, wanted in TARGETS:
        try:
            value = figure(figures)
        except KeyError:  # of something that is not installed
            continue
        met = value >= wanted if sign == ">=" else value <= wanted
        verdicts.append({"target": name, "value": value, "wanted": f"{sign} {wanted:g}", "met": met})
    return verdicts


def show(found: dict[str, Any]) -> str:
    """The figures as a plain table."""
    lines = [
        f"tier {found['tier']}, medians of {found['rounds']} rounds, {found['sandboxes at once']} sandboxes at once"
    ]
    for part, rows in found["figures"].items():
        lines += ["", part, *(f"  {name:<44}{value:>10.2f}" for name, value in rows.items())]
    lines += ["", "targets"]
    for row in found["targets"]:
        met = "met" if row["met"] else "NOT MET"
        lines.append(f"  {row['target']:<44}{row['value']:>10.2f}   {row['wanted']:<8}{met}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Cold processes, bubblewrap and Jupyter against the local sandbox.")
    parser.add_argument("--rounds", type=int, default=10, help="rounds to measure, at least 1")
    parser.add_argument("--crowd", type=int, default=32, help="sandboxes at once")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    found = asyncio.run(benchmark(max(1, options.rounds), max(1, options.crowd)))
    print(show(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
