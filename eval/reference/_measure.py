"""Running the baselines of a real task in a sandbox, and scoring them on its Private rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.errors import SandmleError
from sandmle.eval.acceptance import REFERENCE, Measured
from sandmle.eval.grading import grade_bytes
from sandmle.eval.reference._script import baseline_script
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.seeds import RealTask
from sandmle.task import Task

__all__ = ["SCRIPT", "arguments", "measure"]

LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "pillow")
MODELLING = ("sklearn.ensemble", "sklearn.linear_model", "sklearn.svm", "lightgbm", "scipy.ndimage")
STYLES = {"dummy": "dummy", "linear": "linear", "trees": "gbdt", "blend": "best", "search": "search"}
"""The rungs that are the frozen search's script, and the style of work that each asks of it."""
IDEAS = 64
SEEDS = (0, 1, 2)
CPU_SECONDS = 900.0
MAX_SUBMISSION = 1 << 20
SCRIPT = "baselines.py"


def arguments(real: RealTask) -> dict[str, tuple[str, ...]]:
    """The arguments of every run of the script, by name; a run of a rung that draws ends in its seed."""
    manifest = real.manifest
    assert manifest.submission is not None, "a seed's own format is always known"
    facts = {
        **manifest.submission.model_dump(mode="json"),
        "target": real.target,
        "metric": manifest.metric,
        "problem_type": manifest.problem_type,
    }
    searches = {
        rung: (json.dumps({**facts, "style": style}), str(IDEAS if style == "search" else 0))
        for rung, style in STYLES.items()
    }
    return searches | {f"{REFERENCE}-{seed}": (json.dumps({**facts, "seed": seed}),) for seed in SEEDS}


async def measure(backend: SandboxBackend, real: RealTask, scratch: Path) -> Measured:
    """Run every baseline on the public data; takes minutes of CPU time.

    Args:
        backend: where they run.
        real: the task, which is written to the folder ``scratch``.
        scratch: an empty folder.

    Raises:
        SandmleError: a baseline fails on these data, or its submission is not valid.
        InfraError: the sandbox failed.
    """
    task = await asyncio.to_thread(real.write, scratch)
    scores: dict[str, list[float]] = {}
    for name, submission in (await _submissions(backend, task, arguments(real))).items():
        report = await asyncio.to_thread(grade_bytes, task, submission)
        if report.score is None:
            raise SandmleError(f"{task.id}: the submission of {name} is not valid: {report.detail}")
        scores.setdefault(name.partition("-")[0], []).append(float(f"{report.score:.8g}"))
    return Measured(
        data=real.data_hash,
        metric=real.manifest.metric,
        lower_is_better=real.manifest.lower_is_better,
        scores={rung: tuple(found) for rung, found in scores.items()},
        versions={name: version(name) for name in LIBRARIES},
    )


async def _submissions(backend: SandboxBackend, task: Task, runs: Mapping[str, tuple[str, ...]]) -> dict[str, bytes]:
    """What every run submits, by name."""
    jobs = [
        ScriptJob(name=name, script=SCRIPT, folder=f"runs/{name}", input="data", args=args, cpu_seconds=CPU_SECONDS)
        for name, args in runs.items()
    ]
    found = {}
    async with await backend.create(SandboxSpec(inputs={"data": task.public})) as sandbox:
        await sandbox.write(SCRIPT, baseline_script().encode())
        results = await run_scripts(sandbox, jobs, preload=MODELLING)
        for name, result in results.items():
            if not result.ok:
                raise SandmleError(f"{task.id}: the baseline {name} {result.ending}: {result.log[-400:]}")
            found[name] = await sandbox.read(f"runs/{name}/submission.csv", max_bytes=MAX_SUBMISSION)
    return found
