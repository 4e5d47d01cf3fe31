"""The same rule with more training rows: a synthetic task's own generator, run with the same seeds.

The hidden rows depend on the test seed alone, so the answers stay those of the task.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.errors import BadInput
from sandmle.graphs.synthesis.bundle import PACK, pack_job, read_bundle, write_files
from sandmle.graphs.synthesis.readiness import read_plan
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.task import Task

__all__ = ["redraw_rows", "redrawable"]

CPU_SECONDS = 300.0


def redrawable(task: Task) -> bool:
    """Whether a task's rule can be drawn with another number of rows: a table, with its generator."""
    return task.manifest.modality == "tabular" and (task.provenance / "generate.py").is_file()


async def redraw_rows(task: Task, n_train: int, backend: SandboxBackend, out: Path) -> Path:
    """Write the public files of ``task`` with ``n_train`` training rows to ``out``; the folder, made once.

    Raises:
        BadInput: the task can't be drawn anew, or other hidden rows come out.
        InfraError: the sandbox failed.
    """
    if out.is_dir():
        return out
    plan = await asyncio.to_thread(read_plan, task)
    seeds = ("--train-seed", str(plan.train_seeds[0]), "--test-seed", str(plan.test_seed))
    sizes = ("--n-train", str(n_train), "--n-test", str(plan.n_test))
    job = ScriptJob(name="draw", script="generate.py", args=(*seeds, *sizes, "--out", "drawn"), cpu_seconds=CPU_SECONDS)
    async with await backend.create(SandboxSpec()) as sandbox:
        await sandbox.write("generate.py", await asyncio.to_thread((task.provenance / "generate.py").read_bytes))
        await sandbox.write("pack.py", PACK.encode())
        results = await run_scripts(sandbox, [job, pack_job("drawn")], preload=("pandas", *plan.preload))
        if failed := [result for result in results.values() if not result.ok]:
            raise BadInput(f"{task.root}: can't be drawn with {n_train} rows: {failed[0].log[-400:]}")
        files = await read_bundle(sandbox, "drawn")
    test = await asyncio.to_thread((task.public / "test.csv").read_bytes)
    if files.get("public/test.csv") != test:
        raise BadInput(f"{task.root}: its generator draws other hidden rows with {n_train} training rows")
    public = {name.removeprefix("public/"): data for name, data in files.items() if name.startswith("public/")}
    await asyncio.to_thread(_publish, public, task, out)
    return out


def _publish(public: dict[str, bytes], task: Task, out: Path) -> None:
    scratch = out.with_name(f".{out.name}")
    shutil.rmtree(scratch, ignore_errors=True)
    write_files(scratch, public)
    shutil.copyfile(task.public / "description.md", scratch / "description.md")
    scratch.replace(out)
