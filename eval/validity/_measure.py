"""Running pipelines on one task, in a sandbox, and grading what they submit."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.errors import BadInput
from sandmle.eval.grading import MAX_BYTES, grade_bytes
from sandmle.eval.validity._record import TaskScores
from sandmle.eval.validity._script import pipelines_script
from sandmle.files import write_text
from sandmle.sandboxes import SandboxBackend, SandboxLimits, SandboxSpec
from sandmle.task import Task

__all__ = ["measurable", "measure_task"]

SCRIPT = "pipelines.py"
CPU_SECONDS = 3600.0
LIMITS = SandboxLimits(memory_mib=6144)
PRELOAD = ("pandas", "sklearn.ensemble", "sklearn.neighbors", "sklearn.neural_network", "sklearn.svm", "sklearn.tree")
NOT_COVERED = ("text", "mask")
Draw = Callable[[], Awaitable[Path]]
"""Makes a public folder."""


def measurable(task: Task) -> bool:
    """Whether the pipelines can do a task: not one that asks for texts or masks, or that others grade."""
    form = task.manifest.submission
    files = (task.public / "train.csv", task.public / "test.csv")
    return form is not None and form.kind not in NOT_COVERED and all(path.is_file() for path in files)


async def measure_task(
    task: Task, pipelines: Sequence[str], backend: SandboxBackend, path: Path, draw: Draw | None = None
) -> TaskScores:
    """What ``pipelines`` score on ``task``; those that ``path`` remembers of the same task are not run again.

    Args:
        task: gives the answers, the metric and, unless ``draw`` does, the files.
        pipelines: their names.
        backend: where they run.
        path: remembers the scores, of this task and this version of the pipelines; written when all are there, so a
            killed run begins the task anew.
        draw: makes other public files of the same rule and the same hidden rows.

    Raises:
        InfraError: the sandbox failed.
        BadInput: the task is broken.
    """
    known = await asyncio.to_thread(_remembered, path, task)
    missing = [name for name in pipelines if known is None or name not in known.scores]
    if known is not None and not missing:
        return known
    files = await draw() if draw else task.public
    scores, seconds = await _run(task, files, missing, backend)
    found = TaskScores(
        task_id=task.id,
        content_hash=task.manifest.content_hash,
        script_hash=_script_hash(),
        n_train=await asyncio.to_thread(_rows, files / "train.csv"),
        metric=task.manifest.metric,
        lower_is_better=task.manifest.lower_is_better,
        scores={**(known.scores if known else {}), **scores},
        cpu_s={**(known.cpu_s if known else {}), **seconds},
    )
    await asyncio.to_thread(write_text, path, found.to_text())
    return found


def _remembered(path: Path, task: Task) -> TaskScores | None:
    try:
        found = TaskScores.read(path)
    except BadInput:
        return None
    known = (found.content_hash, found.script_hash)
    return found if known == (task.manifest.content_hash, _script_hash()) else None


def _script_hash() -> str:
    return hashlib.sha256(pipelines_script().encode()).hexdigest()


def _rows(table: Path) -> int:
    with table.open(encoding="utf-8", newline="") as stream:
        return sum(1 for _ in csv.reader(stream)) - 1


async def _run(
    task: Task, public: Path, pipelines: Sequence[str], backend: SandboxBackend
) -> tuple[dict[str, float | None], dict[str, float]]:
    """Scores and CPU seconds by pipeline; a pipeline that left nothing valid scores None."""
    form = task.manifest.submission
    assert form is not None
    facts = {
        **form.model_dump(mode="json"),
        "metric": task.manifest.metric,
        "problem_type": task.manifest.problem_type,
    }
    argument = json.dumps({"facts": facts, "names": list(pipelines)})
    job = ScriptJob(name="run", script=SCRIPT, folder="run", input="data", args=(argument,), cpu_seconds=CPU_SECONDS)
    scores: dict[str, float | None] = {}
    async with await backend.create(SandboxSpec(inputs={"data": public}, limits=LIMITS)) as sandbox:
        await sandbox.write(SCRIPT, pipelines_script().encode())
        result = (await run_scripts(sandbox, [job], preload=PRELOAD))["run"]
        if not result.ok:
            raise BadInput(f"{task.root}: the pipelines can't read it: {result.ending}: {result.log[-400:]}")
        seconds = json.loads(await sandbox.read("run/seconds.json", max_bytes=MAX_BYTES))
        for name in pipelines:
            try:
                data = await sandbox.read(f"run/submission-{name}.csv", max_bytes=MAX_BYTES)
            except FileNotFoundError:
                scores[name] = None
                continue
            scores[name] = (await asyncio.to_thread(grade_bytes, task, data)).score
    return scores, seconds
