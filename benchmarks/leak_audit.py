"""Does the leak audit find what is planted in real tasks, and does it keep quiet about clean ones?

    python benchmarks/leak_audit.py TASKS [--sample 20] [--redraws 5] [--seed 0] [--jobs 2] [--json FILE]

Kept tasks have passed the audit, so they say nothing of false alarms. Each of the sampled tasks is drawn anew with
other seeds; the probes of the audit run on every redraw (any alarm is a false one) and, on the first, once per leak
planted in it: in the tables, the identifiers or the public files themselves. A leak counts as found where the probe
that is meant for it alarms, and is quiet without it. Thresholds are the task's; only its generator and the search's
front-end are run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from leaks import FILE_LEAKS, TABLE_LEAKS, with_files

from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.eval.acceptance import Calibration, Evidence, describe_files, judge
from sandmle.eval.acceptance.search import search_script
from sandmle.eval.grading import read_answers, read_submission
from sandmle.eval.metrics import get_metric
from sandmle.graphs.synthesis import trial
from sandmle.graphs.synthesis.drawing import draw_data
from sandmle.graphs.synthesis.evidence import expectation_of, features_of
from sandmle.graphs.synthesis.readiness import redraw_seeds
from sandmle.sandboxes import LocalBackend, SandboxBackend, SandboxSpec
from sandmle.task import Task, load_tasks

PROBES = ("adversarial", "duplicates", "files", "identifiers", "label_noise", "lone_column", "row_order", "shift")


async def evidence_of(
    backend: SandboxBackend, task: Task, plan: TaskPlan, seeds: tuple[int, int], place: Path
) -> Evidence:
    """What the audit looks at on another draw of a task."""
    drawn = plan.model_copy(update={"train_seeds": seeds[:1], "test_seed": seeds[1]})
    ran = await draw_data(backend, drawn, task.provenance / "generate.py", place)
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
        features=features_of(place, train, test, form.id_column),
        files=describe_files(public, train, test),
        target=plan.target,
        seed=plan.test_seed,
        declared_shift=plan.declared_shift,
        expectation=expectation_of(place, key, form),
    )


def alarms(evidence: Evidence, calibration: Calibration, probes: Sequence[str] = PROBES) -> dict[str, str]:
    """Reasons of the probes that alarm."""
    verdicts = [judge(name, evidence, calibration) for name in probes]
    return {verdict.probe: verdict.reason for verdict in verdicts if not verdict.passed}


def plant_all(evidence: Evidence, calibration: Calibration, public: Path, quiet: set[str]) -> dict[str, bool]:
    """Whether the probe of each leak finds it; leaks whose probe alarms without them are left out."""
    found = {}
    for name, (leak, probe) in TABLE_LEAKS.items():
        if probe in quiet:
            found[name] = bool(alarms(leak(evidence, np.random.default_rng(0)), calibration, [probe]))
    for name in FILE_LEAKS:
        told = with_files(evidence, public, name, np.random.default_rng(0)) if "files" in quiet else None
        if told is not None:
            found[name] = bool(alarms(told, calibration, ["files"]))
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
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--redraws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks = list(load_tasks(options.tasks))
    chosen = np.random.default_rng(options.seed).permutation(len(tasks))[: options.sample]
    backend = LocalBackend(concurrency=options.jobs, allow_unisolated=True)
    gate = asyncio.Semaphore(options.jobs)

    async def one(task: Task) -> dict[str, Any]:
        async with gate:
            found = await audit(backend, task, options.redraws, options.seed)
            print(task.id, flush=True)
            return found

    try:
        rows = await asyncio.gather(*(one(tasks[index]) for index in sorted(chosen)))
    finally:
        await backend.aclose()
    report(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
