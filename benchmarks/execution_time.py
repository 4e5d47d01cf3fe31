"""What the size of a task costs: the same rules and the same scripts on 200 to 200,000 training rows, in one run.

    python benchmarks/execution_time.py [--sizes 200,2000,20000] [--kinds tabular,text,image] [--json FILE]

One task of every kind is drawn; its generator is run once per size and its baselines ``linear`` and ``trees``
(features, cross-validated fit, prediction) stand for what an agent runs at a step. Kinds of items that are files stop
at 20,000. Seconds are CPU seconds of a whole cold process, imports included; sizes take turns, so that a busy machine
slows all of them alike. ``exponent`` is the slope of log seconds over log rows, the imports taken off.

The SandMLE paper reports a mean of 196.17 s on its seeds' data and 14.31 s on its synthetic tasks. That is other work
on other machines: it stands beside these figures, not against them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.kinds import TaskKind, task_kinds
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.roles import TaskPlan
from sandmle.seeds import get_seed

SEED = "breast-cancer"
SCRIPTS = ("linear", "trees")
FILES_STOP = 20_000
OF_FILES = ("image", "audio", "multimodal")
N_TEST = 1_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
IMPORTS = "import numpy, pandas, sklearn.ensemble, sklearn.linear_model, sklearn.model_selection"


async def draw(kind: TaskKind, folder: Path) -> TaskPlan:
    """A plan of the kind and its scripts below ``folder``: the first candidate that the kind poses."""
    strategist = ProceduralStrategist(0, "benchmark", 200, N_TEST)
    for candidate in range(500):
        plan = await strategist.plan(get_seed(SEED), candidate, kind.modality)
        if plan.details["kind"] == kind.name and set(SCRIPTS) <= set(plan.rungs):
            return await ProceduralDeveloper().develop(plan, folder / "task", None)
    raise SystemExit(f"no candidate of kind {kind.name} with the scripts {', '.join(SCRIPTS)}")


def cpu_seconds(command: Sequence[str], cwd: Path) -> float:
    """CPU seconds of a process with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, cwd=cwd, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def time_kind(plan: TaskPlan, folder: Path, sizes: Sequence[int]) -> dict[str, dict[str, float]]:
    """CPU seconds by script and size; ``generate.py`` is among the scripts."""
    scripts = folder / "task" / "provenance"
    found: dict[str, dict[str, float]] = {name: {} for name in ("generate.py", *SCRIPTS)}
    for size in sizes:
        data = folder / str(size)
        seeds = ("--train-seed", str(plan.train_seeds[0]), "--test-seed", str(plan.test_seed))
        rows = ("--n-train", str(size), "--n-test", str(N_TEST), "--out", str(data))
        command = (sys.executable, str(scripts / "generate.py"), *seeds, *rows)
        found["generate.py"][str(size)] = cpu_seconds(command, folder)
        for name in SCRIPTS:
            work = folder / f"{size}-{name}"
            work.mkdir()
            (work / "input").symlink_to(data / "public")
            command = (sys.executable, str(scripts / "baselines" / f"{name}.py"))
            found[name][str(size)] = cpu_seconds(command, work)
    return found


def exponent(seconds: dict[str, float], imports: float) -> float:
    """The slope of log seconds over log rows between the smallest and the largest size, imports taken off."""
    rows = sorted(int(size) for size in seconds)
    first, last = (max(seconds[str(size)] - imports, 0.01) for size in (rows[0], rows[-1]))
    return math.log(last / first) / math.log(rows[-1] / rows[0]) if len(rows) > 1 else math.nan


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="200,2000,20000,200000")
    parser.add_argument("--kinds", default=",".join(kind.name for kind in task_kinds()))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.sizes.split(","))
    figures: dict[str, object] = {}
    for kind in (kind for kind in task_kinds() if kind.name in options.kinds.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if not set(SCRIPTS) <= set(kind.rungs):
                continue
            plan = await draw(kind, folder)
            own = [size for size in sizes if size <= FILES_STOP or kind.modality not in OF_FILES]
            imports = cpu_seconds((sys.executable, "-c", IMPORTS), folder)
            seconds = time_kind(plan, folder, own)
        figures[kind.name] = {"problem": plan.problem_type, "imports": imports, "seconds": seconds}
        for script, times in seconds.items():
            row = "  ".join(f"{size} rows {value:.1f} s" for size, value in times.items())
            ratio = times[str(own[-1])] / times[str(own[0])]
            print(f"{kind.name} {script}: {row}  x{ratio:.1f}, exponent {exponent(times, imports):.2f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
