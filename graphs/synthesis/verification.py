"""What the checks of the synthesis graph look at, and the records that a task is published with.

``sandmle check`` uses the same functions, so a task is checked later exactly as it was verified when it was made.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from sandmle.agents.roles import Player, Role, TaskPlan
from sandmle.eval.acceptance import Acceptance, Calibration, Verdict, accept
from sandmle.eval.acceptance.brief import check_brief
from sandmle.eval.acceptance.evaluator_probe import bad_submissions, judge_evaluator, random_submissions
from sandmle.eval.grading import grade_submission, load_answers
from sandmle.eval.metrics import get_metric
from sandmle.files import hash_tree
from sandmle.grades import GradeReport
from sandmle.graphs.synthesis import trial
from sandmle.graphs.synthesis.evidence import load_evidence
from sandmle.graphs.synthesis.state import SynthesisContext
from sandmle.sandboxes import SandboxBackend
from sandmle.seeds import select_seeds
from sandmle.task import Lineage, MadeBy, Task, TaskFlag, TaskManifest

__all__ = [
    "Made",
    "accept_candidate",
    "check_brief_of",
    "check_evaluator",
    "lay_out_data",
    "lineage_of",
    "manifest_of",
    "write_records",
]

RANDOM_SUBMISSIONS = 8
VERSIONED = ("sandmle", "numpy", "pandas", "scikit-learn", "scipy", "pillow")


def lay_out_data(runs: Path, task: Path) -> None:
    """Put the data of the first redraw where the task has them, as links to the same files where that is possible."""
    for source, target in (
        (runs / "redraw-0", task / "prepared/public"),
        (runs / "private", task / "prepared/private"),
    ):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(runs / source, target, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


async def check_evaluator(
    backend: SandboxBackend, plan: TaskPlan, calibration: Calibration, runs: Path, task: Path
) -> tuple[Verdict, float]:
    """Run ``evaluator.py`` on every baseline's submission, random ones and broken ones, and compare with our grader.

    Returns:
        The verdict, and the CPU seconds of the evaluator's runs.
    """
    submissions = await asyncio.to_thread(_probing_submissions, plan, runs, task)
    expected = await asyncio.to_thread(_grade_all, plan, calibration, task, submissions, runs / "graded")
    evaluator, private = task / "provenance" / "evaluator.py", task / "prepared" / "private"
    printed, cpu_s = await trial.run_evaluator(backend, evaluator, private, submissions)
    return judge_evaluator(expected, printed), cpu_s


def _probing_submissions(plan: TaskPlan, runs: Path, task: Path) -> list[bytes]:
    form = plan.submission
    sample = pd.read_csv(task / "prepared" / "public" / "sample_submission.csv")
    baselines = [(runs / "predictions" / f"{rung}-0.csv").read_bytes() for rung in plan.rungs]
    domain = get_metric(plan.metric).domain
    drawn = random_submissions(sample, form, RANDOM_SUBMISSIONS, plan.test_seed, domain)
    return [*baselines, *drawn, *bad_submissions(sample, form).values()]


def _grade_all(
    plan: TaskPlan, calibration: Calibration, task: Path, submissions: list[bytes], folder: Path
) -> list[GradeReport]:
    """Grade with the manifest that the task would get; each submission is graded from a file, like any other."""
    draft = Task(task, manifest_of(Made(plan), calibration, (), {}))
    trial.clear(folder)
    key, reports = load_answers(draft), []
    for index, data in enumerate(submissions):
        path = folder / f"{index}.csv"
        path.write_bytes(data)
        reports.append(grade_submission(draft, path, key=key))
    return reports


def check_brief_of(plan: TaskPlan, task: Path) -> Verdict:
    """Judge the brief of a laid-out task."""
    public = task / "prepared" / "public"
    return check_brief(
        (public / "description.md").read_text(encoding="utf-8"),
        public,
        metric=get_metric(plan.metric),
        submission=plan.submission,
        target=plan.target,
        rule_terms=plan.rule_terms,
    )


def accept_candidate(plan: TaskPlan, calibration: Calibration, runs: Path) -> Acceptance:
    """Run every probe of acceptance."""
    return accept(load_evidence(plan, runs), calibration)


@dataclass(frozen=True)
class Made:
    """What was made, from what, and by whom; without lineage, a draft for grading."""

    plan: TaskPlan
    lineage: Lineage | None = None
    players: Mapping[Role, Player] = field(default_factory=dict)


def manifest_of(
    made: Made, calibration: Calibration, flags: tuple[TaskFlag, ...], files: Mapping[str, str]
) -> TaskManifest:
    """The manifest of a task."""
    plan, draft = made.plan, Lineage(seed_id="draft", seed_family="draft", seed_source="bundled")
    versions = {"python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in VERSIONED}}
    models = tuple(role for role, player in made.players.items() if player == "llm")
    return TaskManifest(
        id=plan.task_id,
        title=plan.title,
        modality=plan.modality,
        problem_type=plan.problem_type,
        metric=plan.metric,
        lower_is_better=get_metric(plan.metric).lower_is_better,
        submission=plan.submission,
        thresholds=calibration.thresholds,
        lineage=made.lineage or draft,
        dna=plan.dna,
        made_by=MadeBy(team="llm" if models else "procedural", models=models, versions=versions),
        flags=flags,
        files=dict(files),
    )


def lineage_of(plan: TaskPlan, seed_name: str, context: SynthesisContext) -> Lineage:
    """Where a candidate comes from."""
    (seed,) = select_seeds([seed_name])
    return Lineage(
        seed_id=seed.id,
        seed_family=seed.family,
        seed_source=seed.source,
        batch_seed=context.batch_seed,
        candidate=plan.candidate,
        settings_hash=context.settings_hash(),
    )


def write_records(made: Made, calibration: Calibration, acceptance: Acceptance, task: Path) -> None:
    """Write calibration, acceptance and, last, the manifest with the hash of every file."""
    provenance = task / "provenance"
    (provenance / "calibration.json").write_text(calibration.to_text(), encoding="utf-8")
    (provenance / "acceptance.json").write_text(acceptance.to_text(), encoding="utf-8")
    (task / "task.json").unlink(missing_ok=True)
    manifest = manifest_of(made, calibration, acceptance.flags, hash_tree(task))
    (task / "task.json").write_text(manifest.to_text(), encoding="utf-8")
