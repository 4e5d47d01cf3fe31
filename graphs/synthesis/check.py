"""Checking published tasks: nothing is believed that can be run again.

Hashes find a changed byte. With the hashes rewritten too, changed data are found by running the generator, a changed
rule or baseline by the scores, changed thresholds by calibrating anew, and a changed evaluator or brief by its own
check. The task folder is only read.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Acceptance, Calibration, accept, calibrate
from sandmle.eval.grading import InvalidSubmission
from sandmle.eval.metrics import MetricUndefined
from sandmle.files import hash_tree
from sandmle.graphs.synthesis import trial, verification
from sandmle.record import Record
from sandmle.sandboxes import SandboxBackend
from sandmle.task import TIERS, Task

__all__ = ["CheckReport", "check_task"]

RELATIVE = 1e-6


class CheckReport(Record):
    """What is wrong with a task; no findings, no fault."""

    task_id: str
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


async def check_task(task: Task, backend: SandboxBackend) -> CheckReport:
    """Check one task; every fault is a finding, and none stops the others from being looked for where that can be."""
    findings = list(_changed_files(task))
    try:
        plan = TaskPlan.model_validate_json((task.provenance / "rule.json").read_bytes())
        stored = Calibration.read(task.provenance / "calibration.json")
        accepted = Acceptance.read(task.provenance / "acceptance.json")
    except (OSError, ValidationError, BadInput) as error:
        return CheckReport(task_id=task.id, findings=(*findings, f"provenance can't be read: {_line(error)}"))
    findings += _manifest_faults(task, plan, stored, accepted)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="sandmle-check-"))
    try:
        findings += await _run_again(task, plan, stored, accepted, backend, scratch)
    except (InvalidSubmission, MetricUndefined, BadInput, OSError) as error:
        findings.append(f"can't be run again: {_line(error)}")
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)
    return CheckReport(task_id=task.id, findings=tuple(findings))


def _changed_files(task: Task) -> Iterator[str]:
    listed, found = task.manifest.files, hash_tree(task.root)
    found.pop("task.json", None)
    for name in sorted(listed.keys() | found.keys()):
        if name not in found:
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{name} is not in the manifest"
        elif listed[name] != found[name]:
            yield f"{name} was changed (its hash is not the manifest's)"


def _manifest_faults(task: Task, plan: TaskPlan, stored: Calibration, accepted: Acceptance) -> Iterator[str]:
    """Where the manifest contradicts the files of provenance."""
    manifest = task.manifest
    if manifest.lineage.seed_source == "bundled" and manifest.made_by.team == "real":
        return
    expected = verification.manifest_of(plan, manifest.lineage, stored, accepted.flags, manifest.files)
    for name in type(manifest).model_fields:
        if name not in ("made_by", "thresholds", "lineage", "faults") and getattr(manifest, name) != getattr(
            expected, name
        ):
            yield f"task.json: {name} is not what provenance says"
    if task.root.name != manifest.id:
        yield f"the folder is called {task.root.name}, the task {manifest.id}"


async def _run_again(
    task: Task, plan: TaskPlan, stored: Calibration, accepted: Acceptance, backend: SandboxBackend, scratch: Path
) -> list[str]:
    """Everything that running generator, baselines, search and evaluator shows."""
    runs = scratch / "runs"
    if problem := await trial.draw_data(backend, plan, task.provenance / "generate.py", runs):
        return [problem]
    findings = list(_changed_data(task, runs))
    if problem := await trial.run_baselines(backend, plan, task.provenance / "baselines", runs):
        return [*findings, problem]
    evidence = await asyncio.to_thread(trial.load_evidence, plan, runs)
    measured = await asyncio.to_thread(calibrate, evidence)
    findings += _moved_scores(stored, measured)
    findings += _moved_thresholds(task, measured)
    acceptance = await asyncio.to_thread(accept, evidence, measured)
    if not acceptance.passed:
        findings.append(f"no longer accepted: {acceptance.reason}")
    elif acceptance.flags != accepted.flags:
        findings.append(f"flags are {list(acceptance.flags)}, not {list(accepted.flags)}")
    if measured.thresholds is not None:
        verdict = await verification.check_evaluator(backend, plan, measured, runs, task.root)
        findings += [] if verdict.passed else [f"evaluator.py: {verdict.reason}"]
    brief = verification.check_brief_of(plan, task.root)
    return [*findings, *([] if brief.passed else [f"description.md: {brief.reason}"])]


def _changed_data(task: Task, runs: Path) -> Iterator[str]:
    for made, kept in ((runs / "redraw-0", task.public), (runs / "private", task.private)):
        for path in sorted(made.iterdir()):
            ours = kept / path.name
            if not ours.is_file() or ours.read_bytes() != path.read_bytes():
                yield f"{ours.relative_to(task.root)} differs from what generate.py writes"


def _moved_scores(stored: Calibration, measured: Calibration) -> Iterator[str]:
    if stored.rungs.keys() != measured.rungs.keys():
        yield "calibration.json does not list the baselines that are there"
        return
    for name, rung in measured.rungs.items():
        pairs = zip(rung.private, stored.rungs[name].private, strict=False)
        if len(rung.private) != len(stored.rungs[name].private) or not all(_close(a, b) for a, b in pairs):
            yield f"baseline {name} scores {rung.mean:.8g}, calibration.json says {stored.rungs[name].mean:.8g}"
    if not _close(measured.bayes, stored.bayes):
        yield f"the Bayes score is {measured.bayes:.8g}, calibration.json says {stored.bayes:.8g}"


def _moved_thresholds(task: Task, measured: Calibration) -> Iterator[str]:
    ours, theirs = task.manifest.thresholds, measured.thresholds
    if ours is None or theirs is None:
        yield measured.problem or "task.json has no thresholds"
        return
    for tier in TIERS:
        here, there = getattr(ours, tier.value), getattr(theirs, tier.value)
        if not _close(here, there):
            yield f"the {tier.value} threshold is {here:.8g}, calibrating anew gives {there:.8g}"


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-12)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
