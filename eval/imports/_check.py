"""``sandmle check`` of an imported task: hashes, and its quarantined evaluator against our grader once more."""

from __future__ import annotations

import asyncio

from sandmle.errors import BadInput
from sandmle.eval.grading import load_answers
from sandmle.eval.imports._evaluator import one_line, run_evaluator
from sandmle.eval.imports._forms import Candidate
from sandmle.eval.imports._recognise import TOLERANCE, Reading, probes_of
from sandmle.eval.imports._record import IMPORT, QUARANTINE, ImportRecord, Refused
from sandmle.eval.imports._tables import USAGE, read_tables
from sandmle.eval.metrics import get_metric
from sandmle.graphs.synthesis.check import UNREADABLE, CheckReport, changed_files
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task

__all__ = ["check_imported"]


async def check_imported(task: Task, backend: SandboxBackend) -> CheckReport:
    """Check one task; whatever is wrong with its files is a finding, never an exception.

    Raises:
        EnvironmentProblem: the machine lacks disk space or isolation.
        InfraError: a sandbox failed.
    """
    findings = await asyncio.to_thread(lambda: list(changed_files(task)))
    try:
        findings += await _differences(task, backend)
    except (*UNREADABLE, Refused) as error:
        findings.append(f"can't be read or run again: {one_line(str(error))}")
    return CheckReport(task_id=task.id, findings=tuple(findings))


async def _differences(task: Task, backend: SandboxBackend) -> list[str]:
    record = await asyncio.to_thread(ImportRecord.read, task.provenance / IMPORT)
    manifest, quarantine = task.manifest, task.provenance / QUARANTINE
    tables = await asyncio.to_thread(read_tables, task.public, task.answers)
    key = await asyncio.to_thread(load_answers, task)
    if manifest.submission is None:
        raise BadInput("task.json has no submission format")
    target, *_ = (str(name) for name in tables.answers if name not in (tables.id_column, USAGE))
    candidate = Candidate(manifest.submission, target, tuple(tables.answers[target]))
    reading = Reading(candidate, get_metric(manifest.metric), key)
    sample = await asyncio.to_thread((task.public / "sample_submission.csv").read_bytes)
    submissions = [sample, *probes_of(candidate, tables)]
    printed = await run_evaluator(backend, quarantine, record.evaluator, submissions)
    if printed[0].thresholds != manifest.thresholds or printed[0].lower_is_better != manifest.lower_is_better:
        return ["its evaluator prints other thresholds, or another direction, than task.json"]
    gaps = [reading.gap(data, each) for data, each in zip(submissions, printed, strict=True) if each.score is not None]
    if len(gaps) <= len(submissions) // 2 or max(gaps) > TOLERANCE:
        return [f"its evaluator and the grader differ by {max(gaps, default=0.0):.3g} on {len(gaps)} submissions"]
    return []
