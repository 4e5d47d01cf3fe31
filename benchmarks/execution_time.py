"""What the size of a task costs: the same rules and the same scripts on 200 to 200,000 training rows, in one run.

    python benchmarks/execution_time.py [--sizes 200,2000,20000] [--kinds tabular,text,image] [--rounds 1] [--json FILE]

One task of every kind is drawn; its generator is run once per size and its baselines ``linear`` and ``trees``
(features, cross-validated fit, prediction) stand for what an agent runs at a step. Kinds of items that are files stop
at 20,000. Seconds are CPU seconds of a whole cold process, imports included: the least of all rounds, in each of which
all sizes take their turn. ``exponent`` is the slope of log seconds over log rows, less what the script's own imports
cost; ``n/a`` where next to nothing is left of the smallest size.

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
import shutil
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
Seconds = dict[str, dict[str, float]]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
LEAST = 0.05
"""CPU seconds beyond the imports from which a slope is believed."""


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


def time_kind(plan: TaskPlan, folder: Path, sizes: Sequence[int], rounds: int) -> Seconds:
    """CPU seconds by script and size, the least of all rounds; ``generate.py`` is among the scripts."""
    found: Seconds = {name: {} for name in ("generate.py", *SCRIPTS)}
    for _ in range(rounds):
        for size in sizes:
            for name, seconds in time_size(plan, folder, size).items():
                found[name][str(size)] = min(seconds, found[name].get(str(size), math.inf))
    return found


def time_size(plan: TaskPlan, folder: Path, size: int) -> dict[str, float]:
    """CPU seconds of every script at one size."""
    scripts, data = folder / "task" / "provenance", folder / str(size)
    shutil.rmtree(data, ignore_errors=True)
    seeds = ("--train-seed", str(plan.train_seeds[0]), "--test-seed", str(plan.test_seed))
    rows = ("--n-train", str(size), "--n-test", str(N_TEST), "--out", str(data))
    found = {"generate.py": cpu_seconds((sys.executable, str(scripts / "generate.py"), *seeds, *rows), folder)}
    for name in SCRIPTS:
        work = folder / f"{size}-{name}"
        work.mkdir(exist_ok=True)
        (work / "input").unlink(missing_ok=True)
        (work / "input").symlink_to(data / "public")
        found[name] = cpu_seconds((sys.executable, str(scripts / "baselines" / f"{name}.py")), work)
    return found


def import_seconds(script: Path, folder: Path) -> float:
    """CPU seconds of a process that only imports what a script imports at its top."""
    lines = [line for line in script.read_text().splitlines() if line.startswith(("import ", "from "))]
    return cpu_seconds((sys.executable, "-c", "\n".join(lines)), folder)


def exponent(seconds: dict[str, float], imports: float) -> float | None:
    """The slope of log seconds over log rows between the smallest and the largest size, imports taken off."""
    rows = sorted(int(size) for size in seconds)
    first, last = (seconds[str(size)] - imports for size in (rows[0], rows[-1]))
    return math.log(last / first) / math.log(rows[-1] / rows[0]) if len(rows) > 1 and first >= LEAST else None


def tell(kind: str, script: str, times: dict[str, float], slope: float | None) -> None:
    """Print one line."""
    row = "  ".join(f"{size} rows {value:.1f} s" for size, value in times.items())
    first, *_, last = times.values()
    print(
        f"{kind} {script}: {row}  x{last / first:.1f}, exponent {'n/a' if slope is None else f'{slope:.2f}'}",
        flush=True,
    )


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="200,2000,20000,200000")
    parser.add_argument("--kinds", default=",".join(kind.name for kind in task_kinds()))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.sizes.split(","))
    names = options.kinds.split(",")
    if unknown := set(names) - {kind.name for kind in task_kinds()}:
        parser.error(f"no kind of task is called {', '.join(sorted(unknown))}")
    figures: dict[str, object] = {}
    for kind in (kind for kind in task_kinds() if kind.name in names):
        if not set(SCRIPTS) <= set(kind.rungs):
            print(f"{kind.name}: has no {' and '.join(SCRIPTS)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plan = await draw(kind, folder)
            own = [size for size in sizes if size <= FILES_STOP or kind.modality not in OF_FILES]
            seconds = time_kind(plan, folder, own, options.rounds)
            scripts = folder / "task" / "provenance"
            paths = {name: scripts / (name if name == "generate.py" else f"baselines/{name}.py") for name in seconds}
            imports = {name: import_seconds(path, folder) for name, path in paths.items()}
        figures[kind.name] = {"problem": plan.problem_type, "imports": imports, "seconds": seconds}
        for script, times in seconds.items():
            tell(kind.name, script, times, exponent(times, imports[script]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
