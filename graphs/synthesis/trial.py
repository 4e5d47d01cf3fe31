"""Trying a candidate out: its baselines, search and evaluator are run in sandboxes, like anyone else's code.

Folder of a trial:
    redraw-0 .. redraw-2     public files with one training redraw each; the hidden test rows are the same
    private                  answers.csv and bayes.csv; expectation.csv, where the best prediction does not tell it
    predictions              <rung>-<redraw>.csv and search-<ideas>.csv, as the scripts wrote them
    features                 train.csv and test.csv: the search's numeric features, where it has any
    cpu_seconds.json         of every rung, the largest of its redraws

A function that runs scripts returns a ``Ran``: the problem for whoever wrote them, empty if all is well.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, ScriptResult, run_scripts
from sandmle.eval.acceptance import MAX_IDEAS
from sandmle.eval.acceptance.search import search_script
from sandmle.graphs.synthesis.bundle import write_files
from sandmle.record import Record
from sandmle.sandboxes import Sandbox, SandboxBackend, SandboxSpec
from sandmle.task import TaskLimits

__all__ = ["IDEAS", "MODELLING", "Ran", "clear", "first_failure", "run_baselines", "run_evaluator", "run_search"]

MAX_FILE = 64 << 20
IDEAS = (1, 4, 16, MAX_IDEAS)
"""How many ideas the search tries; the last one decides on discoverability."""
MODELLING = ("pandas", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "sklearn.svm")


class Ran(Record):
    """What came of running scripts: ``problem`` for whoever wrote them, and the CPU seconds of all.

    ``rungs`` are those of each baseline, the largest of its redraws; what rungs share is counted to the first of them.
    """

    problem: str = ""
    cpu_s: float = 0.0
    rungs: dict[str, float] = Field(default_factory=dict)


async def run_baselines(backend: SandboxBackend, plan: TaskPlan, baselines: Path, trial: Path) -> Ran:
    """Run every rung on every training redraw; what several runs work out alike, such as features, they share."""
    redraws = range(len(plan.train_seeds))
    jobs = [_on_redraw(f"{rung}-{index}", f"baselines/{rung}.py", index) for rung in plan.rungs for index in redraws]
    inputs = {f"data/{index}": trial / f"redraw-{index}" for index in redraws}
    spec = SandboxSpec(inputs={**inputs, "baselines": baselines}, env={"LADDER_MEMORY": "../../memory"})
    async with await backend.create(spec) as sandbox:
        results = await run_scripts(sandbox, jobs, preload=(*MODELLING, *plan.preload))
        cpu_s = sum(result.cpu_s for result in results.values())
        if problem := first_failure(results):
            return Ran(problem=problem, cpu_s=cpu_s)
        wanted = {f"predictions/{job.name}.csv": f"{job.folder}/submission.csv" for job in jobs}
        problem = await _keep(sandbox, wanted, trial)
    seconds = {rung: max(results[f"{rung}-{index}"].cpu_s for index in redraws) for rung in plan.rungs}
    await asyncio.to_thread((trial / "cpu_seconds.json").write_text, json.dumps(seconds), encoding="utf-8")
    return Ran(problem=problem, cpu_s=cpu_s, rungs=seconds)


async def run_search(backend: SandboxBackend, plan: TaskPlan, trial: Path) -> Ran:
    """Run the discoverability search on the first training redraw."""
    job = _search_job(plan)
    async with await backend.create(SandboxSpec(inputs={"data/0": trial / "redraw-0"})) as sandbox:
        await sandbox.write("search.py", search_script().encode())
        results = await run_scripts(sandbox, [job], preload=(*MODELLING, *plan.preload))
        cpu_s = results[job.name].cpu_s
        if problem := first_failure(results):
            return Ran(problem=problem, cpu_s=cpu_s)
        wanted = {f"predictions/search-{ideas}.csv": f"{job.folder}/submission-{ideas}.csv" for ideas in IDEAS}
        problem = await _keep(sandbox, wanted, trial)
        features = {f"features/{split}.csv": f"{job.folder}/features-{split}.csv" for split in ("train", "test")}
        await _keep(sandbox, features, trial)
    return Ran(problem=problem, cpu_s=cpu_s)


def _search_job(plan: TaskPlan) -> ScriptJob:
    facts = {
        **plan.submission.model_dump(mode="json"),
        "target": plan.target,
        "metric": plan.metric,
        "problem_type": plan.problem_type,
    }
    return _on_redraw("search", "search.py", 0, json.dumps(facts), ",".join(map(str, IDEAS)))


async def run_evaluator(
    backend: SandboxBackend, evaluator: Path, private: Path, submissions: Sequence[bytes]
) -> tuple[list[str], float]:
    """What evaluator.py prints for each submission (its standard output and error), and the CPU seconds of all runs.

    A plain second opening of the submission ends it, for what it checked must be what it scores. It always ends with
    exit code 0: after any other end it is not run again.
    """
    jobs = [
        ScriptJob(
            name=f"evaluate-{index}",
            script="task/provenance/evaluator.py",
            args=("--submission_path", f"submissions/{index}.csv"),
            read_once=f"submissions/{index}.csv",
        )
        for index in range(len(submissions))
    ]
    spec = SandboxSpec(inputs={"task/prepared/private": private, "task/provenance/evaluator.py": evaluator})
    async with await backend.create(spec) as sandbox:
        for index, data in enumerate(submissions):
            await sandbox.write(f"submissions/{index}.csv", data)
        results = await run_scripts(sandbox, jobs, preload=("numpy",))
    printed = [results[job.name].log if job.name in results else "" for job in jobs]
    return printed, sum(result.cpu_s for result in results.values())


async def _keep(sandbox: Sandbox, wanted: Mapping[str, str], trial: Path) -> str:
    """Copy files out of a sandbox into the trial: path there by path here."""
    found = {}
    for target, source in wanted.items():
        try:
            found[target] = await sandbox.read(source, max_bytes=MAX_FILE)
        except (FileNotFoundError, ValueError) as error:
            return f"no usable {source.removeprefix('runs/')}: {error}"
    await asyncio.to_thread(write_files, trial, found)
    return ""


def _on_redraw(name: str, script: str, index: int, *args: str) -> ScriptJob:
    return ScriptJob(
        name=name,
        script=script,
        folder=f"runs/{name}",
        input=f"data/{index}",
        args=args,
        cpu_seconds=TaskLimits().step_seconds,
    )


def first_failure(results: Mapping[str, ScriptResult]) -> str:
    """Which script ended badly, and its last line; empty if none did."""
    for result in results.values():
        if not result.ok:
            last = result.log.strip().splitlines()[-1:] or ["no output"]
            return f"{result.name} {result.ending}: {last[0]}"
    return ""


def clear(folder: Path) -> None:
    """Remove a folder and make it anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
