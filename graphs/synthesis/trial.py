"""Trying a candidate out: its generator, baselines, search and evaluator are run in sandboxes, like anyone else's code.

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

import numpy as np
import pandas as pd
from pydantic import Field

from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, ScriptResult, run_scripts
from sandmle.eval.acceptance import MAX_IDEAS, Evidence, describe_files
from sandmle.eval.acceptance.search import search_script
from sandmle.eval.grading import AnswerKey, InvalidSubmission, read_answers, read_submission
from sandmle.eval.metrics import Values, get_metric
from sandmle.grades import GradeError
from sandmle.graphs.synthesis.bundle import PACK, Files, pack_job, read_bundle, write_files
from sandmle.record import Record
from sandmle.sandboxes import Sandbox, SandboxBackend, SandboxSpec
from sandmle.submission import SubmissionFormat
from sandmle.task import TaskLimits

__all__ = ["DATA_FILES", "Ran", "clear", "draw_data", "load_evidence", "run_baselines", "run_evaluator", "run_search"]

DATA_FILES = (
    "public/train.csv",
    "public/test.csv",
    "public/sample_submission.csv",
    "private/answers.csv",
    "private/bayes.csv",
)
TRAIN = ("public/train.", "public/train_")
SAMPLE = "public/sample_submission."
BRIEF = "public/description.md"
FEW = 100
"""Test rows of a run whose training rows alone are looked at."""
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


async def draw_data(backend: SandboxBackend, plan: TaskPlan, generator: Path, trial: Path) -> Ran:
    """Run the generator once per training redraw, and the first one again; keep what it wrote.

    Equal seeds must give equal training rows, and all else but the sample submission may depend on the test seed alone.
    Where the rows of a plan stand apart, two runs with all test rows show that; the others draw few. Beside its
    training rows each redraw gets the files of the first.
    """
    redraws = [(f"redraw-{index}", seed) for index, seed in enumerate(plan.train_seeds)]
    runs = [*redraws, ("again", plan.train_seeds[0])]
    whole = 2 if plan.rows_apart else len(runs)
    sizes = [plan.n_test if index < whole else min(plan.n_test, FEW) for index in range(len(runs))]
    jobs = [
        ScriptJob(name=name, script="generate.py", args=_generator_args(plan, seed, n_test, name))
        for (name, seed), n_test in zip(runs, sizes, strict=True)
    ]
    async with await backend.create(SandboxSpec()) as sandbox:
        await sandbox.write("generate.py", await asyncio.to_thread(generator.read_bytes))
        await sandbox.write("pack.py", PACK.encode())
        packing = [pack_job(name) for name, _ in runs]
        results = await run_scripts(sandbox, [*jobs, *packing], preload=("pandas", *plan.preload))
        cpu_s = sum(result.cpu_s for result in results.values())
        if problem := _first_failure(results):
            return Ran(problem=problem, cpu_s=cpu_s)
        try:
            first, *others = [await read_bundle(sandbox, name) for name, _ in runs]
        except (FileNotFoundError, ValueError) as error:
            return Ran(problem=f"generate.py wrote no usable files: {error}", cpu_s=cpu_s)
    if problem := _data_problem(first, others[: whole - 1], others[-1]):
        return Ran(problem=problem, cpu_s=cpu_s)
    hidden = {name: data for name, data in first.items() if not name.startswith(TRAIN)}
    await asyncio.to_thread(_keep_data, trial, [first, *({**_train(other), **hidden} for other in others[:-1])])
    return Ran(cpu_s=cpu_s)


def _data_problem(first: Files, whole: Sequence[Files], again: Files) -> str:
    if missing := [name for name in DATA_FILES if name not in first]:
        return f"generate.py wrote no {missing[0]}"
    if BRIEF in first:
        return f"generate.py wrote {BRIEF}, which is the writer's"
    if any(_hidden(first) != _hidden(other) for other in whole):
        return "generate.py gives other test rows when only --train-seed changes"
    if _train(first) != _train(again):
        return "generate.py writes other training rows when it runs again with the same seeds"
    return ""


def _train(files: Files) -> dict[str, bytes]:
    """The training rows, and what belongs to them."""
    return {name: data for name, data in files.items() if name.startswith(TRAIN)}


def _hidden(files: Files) -> dict[str, bytes]:
    """All that may not depend on the training rows."""
    return {name: data for name, data in files.items() if not name.startswith((*TRAIN, SAMPLE))}


def _keep_data(trial: Path, redraws: Sequence[Files]) -> None:
    for index, files in enumerate(redraws):
        parts: dict[str, dict[str, bytes]] = {"public": {}, "private": {}}
        for name, data in files.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = data
        write_files(trial / f"redraw-{index}", parts["public"], same_as=trial / "redraw-0" if index else None)
        if index == 0:
            write_files(trial / "private", parts["private"])


async def run_baselines(backend: SandboxBackend, plan: TaskPlan, baselines: Path, trial: Path) -> Ran:
    """Run every rung on every training redraw; what several runs work out alike, such as features, they share."""
    redraws = range(len(plan.train_seeds))
    jobs = [_on_redraw(f"{rung}-{index}", f"baselines/{rung}.py", index) for rung in plan.rungs for index in redraws]
    inputs = {f"data/{index}": trial / f"redraw-{index}" for index in redraws}
    spec = SandboxSpec(inputs={**inputs, "baselines": baselines}, env={"LADDER_MEMORY": "../../memory"})
    async with await backend.create(spec) as sandbox:
        results = await run_scripts(sandbox, jobs, preload=(*MODELLING, *plan.preload))
        cpu_s = sum(result.cpu_s for result in results.values())
        if problem := _first_failure(results):
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
        if problem := _first_failure(results):
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
    """What evaluator.py prints for each submission (its standard output and error), and the CPU seconds of all runs."""
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
    return [results[job.name].log for job in jobs], sum(result.cpu_s for result in results.values())


def load_evidence(plan: TaskPlan, trial: Path) -> Evidence:
    """All that the probes look at, read from the folder of a trial; without the search where it was not run.

    Raises:
        InvalidSubmission: a baseline wrote something that the grader refuses; names the file.
    """
    metric, form = get_metric(plan.metric), plan.submission
    key = read_answers(trial / "private" / "answers.csv", form)

    def read(path: Path) -> Values:
        try:
            return read_submission(path, form, key, domain=metric.domain)
        except InvalidSubmission as fault:
            raise InvalidSubmission(fault.code, f"{path.stem}: {fault.detail}") from fault

    predictions, public = trial / "predictions", trial / "redraw-0"
    train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
    searches = {k: (read(path),) for k in IDEAS if (path := predictions / f"search-{k}.csv").exists()}
    return Evidence(
        metric=metric,
        submission=form,
        train=train,
        test=test,
        sample=pd.read_csv(public / "sample_submission.csv", keep_default_na=False),
        truth=key.truth,
        private=key.private,
        predictions={
            rung: tuple(read(predictions / f"{rung}-{index}.csv") for index in range(len(plan.train_seeds)))
            for rung in plan.rungs
        },
        bayes=read(trial / "private" / "bayes.csv"),
        search=searches.get(MAX_IDEAS, ()),
        searches=searches,
        features=features_of(trial, train, test, form.id_column),
        files=describe_files(public, train, test),
        cpu_seconds=json.loads((trial / "cpu_seconds.json").read_bytes()),
        target=plan.target,
        seed=plan.test_seed,
        declared_shift=plan.declared_shift,
        expectation=expectation_of(trial, key, form),
    )


def expectation_of(trial: Path, key: AnswerKey, form: SubmissionFormat) -> Values | None:
    """What the rule expects of the hidden labels in the order of ``key``; None if it is not told.

    Returns:
        Shape (n, K) with a column per class or label, or (n,).

    Raises:
        InvalidSubmission: rows, columns or numbers are not those of the task.
    """
    path = trial / "private" / "expectation.csv"
    if not path.exists():
        return None
    try:
        table = pd.read_csv(path, dtype={form.id_column: str}).set_index(form.id_column)
        chosen = table.loc[list(key.ids), list(form.classes or table.columns[:1])].to_numpy(np.float64)
    except (ValueError, LookupError) as error:
        raise InvalidSubmission(GradeError.UNPARSABLE, f"expectation: {error}") from error
    if chosen.shape != (len(key.ids), chosen.shape[1]) or not np.isfinite(chosen).all():
        raise InvalidSubmission(GradeError.NON_FINITE, "expectation: not one finite number a label")
    return chosen if form.classes else chosen[:, 0]


def features_of(
    trial: Path, train: pd.DataFrame, test: pd.DataFrame, id_column: str
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The search's features in the order of the tables; None for tables, which show all that they have."""
    folder = trial / "features"
    if not folder.exists():
        return None
    found = [pd.read_csv(folder / f"{split}.csv", index_col=id_column) for split in ("train", "test")]
    one, other = (
        part.loc[table[id_column]].reset_index(drop=True) for part, table in zip(found, (train, test), strict=True)
    )
    return one, other


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


def _generator_args(plan: TaskPlan, train_seed: int, n_test: int, out: str) -> tuple[str, ...]:
    sizes = ("--n-train", str(plan.n_train), "--n-test", str(n_test))
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
