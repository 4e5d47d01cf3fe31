"""Trying a candidate out: its generator, baselines, search and evaluator are run in sandboxes, like anyone else's code.

Folder of a trial:
    redraw-0 .. redraw-2     public files with one training redraw each; the hidden test rows are the same
    private                  answers.csv and bayes.csv
    predictions              <rung>-<redraw>.csv and search-<redraw>.csv, as the scripts wrote them

A function that runs scripts returns a problem for whoever wrote them, empty if all is well.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from sandmle.agents.roles import BASELINE_RUNGS, TaskPlan
from sandmle.agents.scripts import ScriptJob, ScriptResult, run_scripts
from sandmle.eval.acceptance import MAX_IDEAS, Evidence, search_script
from sandmle.eval.grading import InvalidSubmission, read_answers, read_submission
from sandmle.eval.metrics import Array, get_metric
from sandmle.sandboxes import Sandbox, SandboxBackend, SandboxSpec
from sandmle.task import TaskLimits

__all__ = ["DATA_FILES", "clear", "draw_data", "load_evidence", "run_baselines", "run_evaluator"]

TEST_FILES = ("public/test.csv", "private/answers.csv", "private/bayes.csv")
DATA_FILES = ("public/train.csv", "public/sample_submission.csv", *TEST_FILES)
MAX_FILE = 64 << 20
MODELLING = ("pandas", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "sklearn.svm")


async def draw_data(backend: SandboxBackend, plan: TaskPlan, generator: Path, trial: Path) -> str:
    """Run the generator once per training redraw, and the first one again; keep what it wrote.

    Equal seeds must give equal bytes, and the hidden test rows may depend on the test seed alone.
    """
    redraws = [(f"redraw-{index}", seed) for index, seed in enumerate(plan.train_seeds)]
    again = ("again", plan.train_seeds[0])
    jobs = [
        ScriptJob(name=name, script="generate.py", args=_generator_args(plan, seed, name))
        for name, seed in (*redraws, again)
    ]
    found: dict[tuple[str, str], bytes] = {}
    async with await backend.create(SandboxSpec()) as sandbox:
        await sandbox.write("generate.py", await asyncio.to_thread(generator.read_bytes))
        if problem := _first_failure(await run_scripts(sandbox, jobs, preload=("pandas",))):
            return problem
        for job in jobs:
            for name in DATA_FILES:
                try:
                    found[job.name, name] = await sandbox.read(f"{job.name}/{name}", max_bytes=MAX_FILE)
                except (FileNotFoundError, ValueError) as error:
                    return f"generate.py wrote no usable {name}: {error}"
    if any(found["redraw-0", name] != found["again", name] for name in DATA_FILES):
        return "generate.py writes other bytes when it runs again with the same seeds"
    if any(found["redraw-0", name] != found[redraw, name] for name in TEST_FILES for redraw, _ in redraws):
        return "generate.py gives other test rows when only --train-seed changes"
    kept = {
        trial / (redraw if name.startswith("public/") else "private") / name.partition("/")[2]: found[redraw, name]
        for redraw, _ in redraws
        for name in DATA_FILES
    }
    await asyncio.to_thread(_write_files, kept)
    return ""


async def run_baselines(backend: SandboxBackend, plan: TaskPlan, baselines: Path, trial: Path) -> str:
    """Run every rung on every training redraw, and the discoverability search on the published one."""
    redraws = range(len(plan.train_seeds))
    jobs = [_on_redraw(rung, f"baselines/{rung}.py", index) for rung in BASELINE_RUNGS for index in redraws]
    facts = {**plan.submission.model_dump(mode="json"), "target": plan.target, "metric": plan.metric}
    jobs.append(_on_redraw("search", "search.py", 0, json.dumps(facts), str(MAX_IDEAS)))
    inputs = {f"data/{index}": trial / f"redraw-{index}" for index in redraws}
    async with await backend.create(SandboxSpec(inputs={**inputs, "baselines": baselines})) as sandbox:
        await sandbox.write("search.py", search_script().encode())
        if problem := _first_failure(await run_scripts(sandbox, jobs, preload=MODELLING)):
            return problem
        return await _keep_submissions(sandbox, jobs, trial / "predictions")


async def run_evaluator(
    backend: SandboxBackend, evaluator: Path, private: Path, submissions: Sequence[bytes]
) -> list[str]:
    """What evaluator.py prints for each submission: its standard output and error."""
    jobs = [
        ScriptJob(
            name=f"evaluate-{index}",
            script="task/provenance/evaluator.py",
            args=("--submission_path", f"submissions/{index}.csv"),
        )
        for index in range(len(submissions))
    ]
    spec = SandboxSpec(inputs={"task/prepared/private": private, "task/provenance/evaluator.py": evaluator})
    async with await backend.create(spec) as sandbox:
        for index, data in enumerate(submissions):
            await sandbox.write(f"submissions/{index}.csv", data)
        results = await run_scripts(sandbox, jobs, preload=("numpy",))
    return [results[job.name].log for job in jobs]


def load_evidence(plan: TaskPlan, trial: Path) -> Evidence:
    """All that the probes look at, read from the folder of a trial.

    Raises:
        InvalidSubmission: a baseline wrote something that the grader refuses; names the file.
    """
    metric, form = get_metric(plan.metric), plan.submission
    key = read_answers(trial / "private" / "answers.csv", form)

    def read(path: Path) -> Array:
        try:
            return read_submission(path, form, key, domain=metric.domain)
        except InvalidSubmission as fault:
            raise InvalidSubmission(fault.code, f"{path.stem}: {fault.detail}") from fault

    redraws = range(len(plan.train_seeds))
    predictions = trial / "predictions"
    public = trial / "redraw-0"
    return Evidence(
        metric=metric,
        submission=form,
        train=pd.read_csv(public / "train.csv"),
        test=pd.read_csv(public / "test.csv"),
        sample=pd.read_csv(public / "sample_submission.csv"),
        truth=key.truth,
        private=key.private,
        predictions={
            rung: tuple(read(predictions / f"{rung}-{index}.csv") for index in redraws) for rung in BASELINE_RUNGS
        },
        bayes=read(trial / "private" / "bayes.csv"),
        search=tuple(read(path) for path in sorted(predictions.glob("search-*.csv"))),
        target=plan.target,
        seed=plan.test_seed,
    )


async def _keep_submissions(sandbox: Sandbox, jobs: Sequence[ScriptJob], predictions: Path) -> str:
    found = {}
    for job in jobs:
        try:
            path = predictions / f"{job.name}.csv"
            found[path] = await sandbox.read(f"{job.folder}/submission.csv", max_bytes=MAX_FILE)
        except (FileNotFoundError, ValueError) as error:
            return f"{job.script} left no usable submission.csv: {error}"
    await asyncio.to_thread(_write_files, found)
    return ""


def _write_files(contents: Mapping[Path, bytes]) -> None:
    for path, data in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _on_redraw(name: str, script: str, index: int, *args: str) -> ScriptJob:
    return ScriptJob(
        name=f"{name}-{index}",
        script=script,
        folder=f"runs/{name}-{index}",
        input=f"data/{index}",
        args=args,
        cpu_seconds=TaskLimits().step_seconds,
    )


def _generator_args(plan: TaskPlan, train_seed: int, out: str) -> tuple[str, ...]:
    sizes = ("--n-train", str(plan.n_train), "--n-test", str(plan.n_test))
    return ("--train-seed", str(train_seed), "--test-seed", str(plan.test_seed), *sizes, "--out", out)


def _first_failure(results: Mapping[str, ScriptResult]) -> str:
    for result in results.values():
        if not result.ok:
            last = result.log.strip().splitlines()[-1:] or ["no output"]
            return f"{result.name} ended with exit code {result.exit_code}: {last[0]}"
    return ""


def clear(folder: Path) -> None:
    """Remove a folder and make it anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
