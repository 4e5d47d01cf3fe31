"""Trying a candidate out: its generator, baselines, search and evaluator are run in sandboxes, like anyone else's code.

Folder of a trial:
    redraw-0 .. redraw-2     public files with one training redraw each; the hidden test rows are the same
    private                  answers.csv and bayes.csv
    predictions              <rung>-<redraw>.csv and search-<redraw>.csv, as the scripts wrote them

A function that runs scripts returns a problem for whoever wrote them, empty if all is well.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pandas as pd

from sandmle.agents.roles import BASELINE_RUNGS, TaskPlan
from sandmle.agents.scripts import ScriptJob, ScriptResult, run_scripts
from sandmle.eval.acceptance import MAX_IDEAS, Evidence
from sandmle.eval.grading import InvalidSubmission, read_answers, read_submission
from sandmle.eval.metrics import Array, get_metric
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.task import TaskLimits

__all__ = ["draw_data", "load_evidence", "run_baselines", "run_evaluator", "run_search"]

PUBLIC_FILES = ("train.csv", "test.csv", "sample_submission.csv")
PRIVATE_FILES = ("answers.csv", "bayes.csv")
MAX_FILE = 64 << 20
MODELLING = ("pandas", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "sklearn.svm")


async def draw_data(backend: SandboxBackend, plan: TaskPlan, generator: bytes, trial: Path) -> str:
    """Run the generator once per training redraw and keep what it wrote."""
    jobs = [
        ScriptJob(name=f"draw-{index}", script="generate.py", args=_generator_args(plan, train_seed, f"draw-{index}"))
        for index, train_seed in enumerate(plan.train_seeds)
    ]
    async with await backend.create(SandboxSpec()) as sandbox:
        await sandbox.write("generate.py", generator)
        if problem := _first_failure(await run_scripts(sandbox, jobs, preload=("pandas",))):
            return problem
        test_rows = set()
        for index, job in enumerate(jobs):
            for folder, names in (("public", PUBLIC_FILES), ("private", PRIVATE_FILES)):
                for name in names:
                    try:
                        data = await sandbox.read(f"{job.name}/{folder}/{name}", max_bytes=MAX_FILE)
                    except (FileNotFoundError, ValueError) as error:
                        return f"generate.py wrote no usable {folder}/{name}: {error}"
                    if name in ("test.csv", "answers.csv", "bayes.csv"):
                        test_rows.add((name, data))
                    target = trial / (f"redraw-{index}" if folder == "public" else "private") / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
    if len(test_rows) > 3:
        return "generate.py gives other test rows when only --train-seed changes"
    return ""


async def run_baselines(backend: SandboxBackend, plan: TaskPlan, baselines: Path, trial: Path) -> str:
    """Run every rung on every training redraw."""
    limit = TaskLimits().step_seconds
    jobs = [
        ScriptJob(
            name=f"{rung}-{index}",
            script=f"baselines/{rung}.py",
            folder=f"runs/{rung}-{index}",
            input=f"data/{index}",
            cpu_seconds=limit,
        )
        for rung in BASELINE_RUNGS
        for index in range(len(plan.train_seeds))
    ]
    inputs = {f"data/{index}": trial / f"redraw-{index}" for index in range(len(plan.train_seeds))}
    return await _run_and_keep(backend, jobs, {**inputs, "baselines": baselines}, trial / "predictions")


async def run_search(backend: SandboxBackend, plan: TaskPlan, trial: Path) -> str:
    """Run the discoverability search on the published training rows."""
    facts = {
        "target": plan.target,
        "id_column": plan.submission.id_column,
        "kind": plan.submission.kind,
        "classes": plan.submission.classes,
        "metric": plan.metric,
        "lower_is_better": get_metric(plan.metric).lower_is_better,
    }
    job = ScriptJob(
        name="search-0",
        script="search.py",
        folder="runs/search-0",
        input="data/0",
        args=(json.dumps(facts), str(MAX_IDEAS)),
    )
    script = files("sandmle.eval.acceptance").joinpath("_search_script.py").read_bytes()
    inputs = {"data/0": trial / "redraw-0"}
    return await _run_and_keep(backend, [job], inputs, trial / "predictions", {"search.py": script})


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


async def _run_and_keep(
    backend: SandboxBackend,
    jobs: Sequence[ScriptJob],
    inputs: Mapping[str, Path],
    predictions: Path,
    scripts: Mapping[str, bytes] | None = None,
) -> str:
    """Run scripts that each write submission.csv; keep those files under the job's name."""
    async with await backend.create(SandboxSpec(inputs=dict(inputs))) as sandbox:
        for name, data in (scripts or {}).items():
            await sandbox.write(name, data)
        results = await run_scripts(sandbox, jobs, preload=MODELLING)
        if problem := _first_failure(results):
            return problem
        predictions.mkdir(parents=True, exist_ok=True)
        for job in jobs:
            try:
                data = await sandbox.read(f"{job.folder}/submission.csv", max_bytes=MAX_FILE)
            except (FileNotFoundError, ValueError) as error:
                return f"{job.script} left no usable submission.csv: {error}"
            (predictions / f"{job.name}.csv").write_bytes(data)
    return ""


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
