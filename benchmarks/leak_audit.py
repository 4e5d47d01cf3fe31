"""Does the leak audit find what is planted in real tasks, and does it keep quiet about clean ones?

    python benchmarks/leak_audit.py TASKS [--sample 30] [--redraws 5] [--seed 0] [--jobs 2] [--json FILE]

Kept tasks have passed the audit, so they say nothing of false alarms. Each of the sampled tasks is drawn anew with
other seeds; the probes of the audit run on every redraw (any alarm is a false one) and, on the first, once per leak
planted in it: in the tables, the identifiers or the public files themselves. A leak counts as found where a probe
alarms that is quiet without it. Thresholds are the task's; only its generator and the search's front-end are run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.api import load_tasks
from sandmle.eval.acceptance import Calibration, Evidence, describe_files, judge
from sandmle.eval.acceptance.search import search_script
from sandmle.eval.grading import read_answers, read_submission
from sandmle.eval.metrics import get_metric
from sandmle.files import PUBLIC_TIME
from sandmle.graphs.synthesis import trial
from sandmle.graphs.synthesis.readiness import redraw_seeds
from sandmle.sandboxes import LocalBackend, SandboxBackend, SandboxSpec
from sandmle.task import Task

PROBES = ("adversarial", "duplicates", "files", "identifiers", "label_noise", "lone_column", "row_order", "shift")
Leak = Callable[[Evidence, np.random.Generator], Evidence]


def amounts(evidence: Evidence) -> NDArray[np.float64]:
    """One number per label of train, then test: larger for more of it."""
    train = cells_of_train(evidence)
    if evidence.kind == "text":
        lengths = [len(str(cell)) for cell in [*train, *evidence.truth]]
        return np.array(lengths, dtype=np.float64)
    if evidence.submission.classes:
        index = {label: k for k, label in enumerate(evidence.submission.classes)}
        known = [float(sum(index[name] + 1 for name in str(cell).split() if name in index)) for cell in train]
        if evidence.truth.ndim == 2:
            hidden = evidence.truth @ (np.arange(evidence.truth.shape[1]) + 1.0)
        else:
            known = [
                float(index[cell] + 1) if cell in index else value for cell, value in zip(train, known, strict=True)
            ]
            hidden = evidence.truth + 1.0
        return np.concatenate([known, hidden])
    if evidence.kind == "mask":
        known = [float(sum(int(part) for part in str(cell).split()[1::2])) if cell != "none" else 0.0 for cell in train]
        return np.concatenate([known, evidence.truth.sum(axis=1)])
    hidden = evidence.truth[:, 0] if evidence.truth.ndim == 2 else evidence.truth
    return np.concatenate([train.to_numpy(np.float64), hidden])


def cells_of_train(evidence: Evidence) -> pd.Series:
    """The target column as it stands in train.csv."""
    return evidence.train[evidence.target].where(evidence.train[evidence.target].notna(), "none")


def with_column(evidence: Evidence, values: Any, name: str = "extra") -> Evidence:
    """The task with one more column, or another one, given for train and then test."""
    values, n = np.asarray(values), len(evidence.train)
    tables = {"train": evidence.train.assign(**{name: values[:n]}), "test": evidence.test.assign(**{name: values[n:]})}
    if name == evidence.submission.id_column:
        tables["sample"] = evidence.sample.assign(**{name: values[n:]})
    return replace(evidence, **tables)


def with_rows(evidence: Evidence, train: NDArray[np.int64], test: NDArray[np.int64]) -> Evidence:
    """The task with other rows; all that is aligned follows."""
    parts = {
        "train": evidence.train.iloc[train],
        "test": evidence.test.iloc[test],
        "sample": evidence.sample.iloc[test],
    }
    files = evidence.files
    if files is not None and len(files):
        place = {split: np.argsort(order) for split, order in (("train", train), ("test", test))}
        files = files.assign(row=[place[split][row] for split, row in zip(files["split"], files["row"], strict=True)])
    features = evidence.features and tuple(
        table.iloc[rows].reset_index(drop=True) for table, rows in zip(evidence.features, (train, test), strict=True)
    )
    return replace(
        evidence,
        **{name: table.reset_index(drop=True) for name, table in parts.items()},
        truth=evidence.truth[test],
        private=evidence.private[test],
        bayes=evidence.bayes[test],
        predictions={name: tuple(run[test] for run in runs) for name, runs in evidence.predictions.items()},
        features=features,
        files=files,
    )


def ids_sorted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Identifiers rise with the label."""
    order = np.lexsort((rng.random(len(amounts(evidence))), amounts(evidence)))
    return with_column(evidence, np.argsort(order), evidence.submission.id_column)


def id_parity(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Even identifiers for the lower half of the labels."""
    values = amounts(evidence)
    numbers = 2 * rng.permutation(len(values)) + (values > np.median(values))
    return with_column(evidence, numbers, evidence.submission.id_column)


def rows_sorted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Rows of train and test are sorted by label."""
    n, values = len(evidence.train), amounts(evidence)
    return with_rows(evidence, np.argsort(values[:n], kind="stable"), np.argsort(values[n:], kind="stable"))


def duplicated(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Forty training rows stand in test again."""
    own = [
        name for name in evidence.test if name not in (evidence.submission.id_column, evidence.submission.group_column)
    ]
    test = evidence.test.copy()
    for name in own:
        cells = test[name].to_numpy(object)
        cells[30:70] = evidence.train[name].to_numpy(object)[:40]
        test[name] = pd.Series(cells, index=test.index).astype(test[name].dtype)
    features = evidence.features
    if features is not None:
        again = features[1].copy()
        again.iloc[30:70] = features[0].iloc[:40].to_numpy()
        features = (features[0], again)
    return replace(evidence, test=test, features=features)


def copied_target(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column holds the label."""
    if evidence.kind == "text":
        return with_column(evidence, np.array([*cells_of_train(evidence), *evidence.truth], dtype=object))
    return with_column(evidence, amounts(evidence))


def noisy_proxy(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column holds the label with exponential noise of half its spread."""
    values = amounts(evidence)
    return with_column(evidence, values + 0.5 * np.std(values) * rng.exponential(size=len(values)))


def shifted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column lies one standard deviation higher in test."""
    n = len(evidence.train) + len(evidence.test)
    values = rng.normal(size=n)
    values[len(evidence.train) :] += 1.0
    return with_column(evidence, values)


TABLE_LEAKS: dict[str, Leak] = {
    "ids sorted by label": ids_sorted,
    "parity of ids": id_parity,
    "sorted rows": rows_sorted,
    "40 duplicated rows": duplicated,
    "copied target": copied_target,
    "noisy proxy": noisy_proxy,
    "shift": shifted,
}


def plant_times(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Files were written in the order of their labels."""
    for path, rank in zip(paths, ranks, strict=True):
        os.utime(public / path, (PUBLIC_TIME + int(rank), PUBLIC_TIME + int(rank)))


def plant_sizes(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Files are as long as their label is large."""
    for path, rank in zip(paths, ranks, strict=True):
        with (public / path).open("ab") as stream:
            stream.write(b"\0" * (10 * int(rank)))


def plant_exif(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Pictures carry a comment with their label."""
    for path, told in zip(paths, classes, strict=True):
        note = PngInfo()
        note.add_text("Comment", told)
        with Image.open(public / path) as picture:
            picture.load()
            picture.save(public / path, pnginfo=note)


FILE_LEAKS = {"times of files": plant_times, "sizes of files": plant_sizes, "label in metadata": plant_exif}


def with_files(evidence: Evidence, public: Path, leak: str, rng: np.random.Generator) -> Evidence | None:
    """The task with a leak planted in its public files; None where it has none that could carry it."""
    files = evidence.files
    if files is None or files.empty or (leak == "label in metadata" and not files["path"].str.endswith(".png").all()):
        return None
    values, n = amounts(evidence), len(evidence.train)
    rows = files["row"].to_numpy(np.int64) + np.where(files["split"] == "test", n, 0)
    ranks = np.argsort(np.lexsort((rng.random(len(values)), values)))[rows]
    told = [f"{value:g}" for value in values[rows]]
    if leak in ("label in a file name", "order of files"):
        number = (
            ranks
            if leak == "order of files"
            else [f"{text}-{k}" for text, k in zip(told, rng.permutation(len(told)), strict=True)]
        )
        renamed = [
            f"{Path(path).parent}/{name}{Path(path).suffix}" for path, name in zip(files["path"], number, strict=True)
        ]
        return replace(evidence, files=files.assign(path=renamed))
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "public"
        shutil.copytree(public, copy)
        FILE_LEAKS[leak](copy, list(files["path"]), ranks, told)
        return replace(evidence, files=describe_files(copy, evidence.train, evidence.test))


async def evidence_of(
    backend: SandboxBackend, task: Task, plan: TaskPlan, seeds: tuple[int, int], place: Path
) -> Evidence:
    """What the audit looks at on another draw of a task."""
    drawn = plan.model_copy(update={"train_seeds": seeds[:1], "test_seed": seeds[1]})
    ran = await trial.draw_data(backend, drawn, task.provenance / "generate.py", place)
    if ran.problem:
        raise SystemExit(f"{task.id}: {ran.problem}")
    await run_front_end(backend, drawn, place)
    return await asyncio.to_thread(read_evidence, drawn, place)


async def run_front_end(backend: SandboxBackend, plan: TaskPlan, place: Path) -> None:
    """Run the search without its ideas, for the features of items that are no table."""
    facts = {**plan.submission.model_dump(mode="json"), "target": plan.target, "metric": plan.metric}
    facts |= {"problem_type": plan.problem_type, "style": "dummy"}
    job = ScriptJob(name="search", script="search.py", input="data", folder="run", args=(json.dumps(facts), "1"))
    async with await backend.create(SandboxSpec(inputs={"data": place / "redraw-0"})) as sandbox:
        await sandbox.write("search.py", search_script().encode())
        result = (await run_scripts(sandbox, [job], preload=trial.MODELLING))["search"]
        if not result.ok:
            raise SystemExit(f"{plan.task_id}: {result.log}")
        for split in ("train", "test"):
            try:
                data = await sandbox.read(f"run/features-{split}.csv", max_bytes=64 << 20)
            except FileNotFoundError:
                return
            (place / "features").mkdir(exist_ok=True)
            (place / "features" / f"{split}.csv").write_bytes(data)


def read_evidence(plan: TaskPlan, place: Path) -> Evidence:
    """Tables, truth and Bayes prediction; the rungs, which these probes do not look at, are the Bayes prediction."""
    metric, form = get_metric(plan.metric), plan.submission
    public, private = place / "redraw-0", place / "private"
    key = read_answers(private / "answers.csv", form)
    bayes = read_submission(private / "bayes.csv", form, key, domain=metric.domain)
    train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
    features = None
    if (place / "features").exists():
        found = [
            pd.read_csv(place / "features" / f"{split}.csv", index_col=form.id_column) for split in ("train", "test")
        ]
        one, other = (
            part.loc[table[form.id_column]].reset_index(drop=True)
            for part, table in zip(found, (train, test), strict=True)
        )
        features = (one, other)
    return Evidence(
        metric=metric,
        submission=form,
        train=train,
        test=test,
        sample=pd.read_csv(public / "sample_submission.csv", keep_default_na=False),
        truth=key.truth,
        private=key.private,
        predictions=dict.fromkeys(plan.rungs, (bayes,)),
        bayes=bayes,
        search=(),
        features=features,
        files=describe_files(public, train, test),
        target=plan.target,
        seed=plan.test_seed,
        declared_shift=plan.declared_shift,
        expectation=read_expectation(private / "expectation.csv"),
    )


def read_expectation(path: Path) -> NDArray[np.float64] | None:
    """What the rule expects of the hidden labels, where the generator tells it."""
    if not path.exists():
        return None
    table = pd.read_csv(path).iloc[:, 1:].to_numpy(np.float64)
    return table[:, 0] if table.shape[1] == 1 else table


def alarms(evidence: Evidence, calibration: Calibration) -> dict[str, str]:
    """Reasons of the probes that alarm."""
    verdicts = [judge(name, evidence, calibration) for name in PROBES]
    return {verdict.probe: verdict.reason for verdict in verdicts if not verdict.passed}


def plant_all(evidence: Evidence, calibration: Calibration, public: Path, quiet: set[str]) -> dict[str, bool]:
    """Whether each leak is found by a probe that is quiet without it."""
    found = {}
    for name, leak in TABLE_LEAKS.items():
        planted = leak(evidence, np.random.default_rng(0))
        found[name] = bool(alarms(planted, calibration).keys() & quiet)
    for name in (*FILE_LEAKS, "label in a file name", "order of files"):
        told = with_files(evidence, public, name, np.random.default_rng(0))
        if told is not None:
            found[name] = bool(alarms(told, calibration).keys() & quiet)
    return found


async def audit(backend: SandboxBackend, task: Task, redraws: int, seed: int) -> dict[str, Any]:
    """The alarms of every redraw of a task, and what was found of the leaks planted in the first."""
    plan = TaskPlan.model_validate_json((task.provenance / "rule.json").read_bytes())
    calibration = Calibration.read(task.provenance / "calibration.json")
    false, planted = [], {}
    for index, seeds in enumerate(redraw_seeds(plan, redraws, seed)):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            evidence = await evidence_of(backend, task, plan, seeds, place)
            found = await asyncio.to_thread(alarms, evidence, calibration)
            false.append(found)
            if index == 0:
                quiet = set(PROBES) - found.keys()
                planted = await asyncio.to_thread(plant_all, evidence, calibration, place / "redraw-0", quiet)
    return {
        "task": task.id,
        "kind": plan.details["kind"],
        "prediction": plan.submission.kind,
        "false": false,
        "planted": planted,
    }


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print the shares by leak and by kind of task."""
    by_leak: dict[str, Counter[bool]] = defaultdict(Counter)
    missed: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for leak, found in row["planted"].items():
            by_leak[leak][found] += 1
            if not found:
                missed[leak][f"{row['kind']} {row['prediction']}"] += 1
    for leak, counts in by_leak.items():
        print(f"{leak:24s} found {counts[True]} of {counts.total()}", dict(missed[leak]) or "")
    drawn = [found for row in rows for found in row["false"]]
    wrong = [(row["task"], found) for row in rows for found in row["false"] if found]
    print(f"clean redraws with an alarm: {len(wrong)} of {len(drawn)}")
    for task, found in wrong:
        print(f"  {task}: {found}")


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--sample", type=int, default=30)
    parser.add_argument("--redraws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks = list(load_tasks(options.tasks))
    chosen = np.random.default_rng(options.seed).permutation(len(tasks))[: options.sample]
    backend = LocalBackend(concurrency=options.jobs, allow_unisolated=True)
    gate = asyncio.Semaphore(options.jobs)
    rows: list[dict[str, Any]] = []

    async def one(task: Task) -> None:
        async with gate:
            rows.append(await audit(backend, task, options.redraws, options.seed))
            print(f"{len(rows)}/{len(chosen)} {task.id}", flush=True)

    try:
        await asyncio.gather(*(one(tasks[index]) for index in sorted(chosen)))
    finally:
        await backend.aclose()
    report(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
