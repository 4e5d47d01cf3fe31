"""Checking published tasks: nothing is believed that can be made or run again.

    hashes      a changed, missing or added file, and any link
    rewritten   generator, baselines, evaluator and brief must be what this version of the team writes for the rule
    run again   data byte for byte, scores, thresholds and the whole calibration to 1e-6, every probe of acceptance, and
                the evaluator against the grader: also who rewrote the hashes is found

The task folder is only read. What can't be checked: the prose of a brief by another version, and lineage.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandmle import __version__
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.team import procedural_team
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Acceptance, Calibration, accept, calibrate
from sandmle.eval.grading import InvalidSubmission
from sandmle.eval.grading.boards import BOARDS, read_boards
from sandmle.eval.grading.medals import thresholds_from_leaderboard
from sandmle.eval.grading.original import ORIGINAL
from sandmle.files import disk_errors, hash_tree
from sandmle.graphs.synthesis import trial, verification
from sandmle.graphs.synthesis.drawing import draw_data
from sandmle.graphs.synthesis.evidence import load_evidence
from sandmle.graphs.synthesis.relabel import relabel
from sandmle.record import Record
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task

__all__ = ["UNREADABLE", "CheckReport", "changed_files", "check_task"]

RELATIVE = 1e-6
FILES = {
    "prepared/public/description.md",
    *(f"provenance/{name}" for name in ("rule.json", "generate.py", "evaluator.py")),
    *(f"provenance/{name}" for name in ("calibration.json", "acceptance.json")),
}
"""What every task has beside its data and its baselines."""
BASELINES = "baselines.json"
REAL_PROVENANCE = {BOARDS, ORIGINAL, BASELINES, "baselines.py"}
"""What a real task may have there."""
WORDINGS = 3
UNREADABLE = (OSError, ValueError, LookupError, TypeError, BadInput, InvalidSubmission)


class CheckReport(Record):
    """What is wrong with a task; no findings, no fault."""

    task_id: str
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


async def check_task(task: Task, backend: SandboxBackend) -> CheckReport:
    """Check one task; whatever is wrong with its files is a finding, never an exception.

    Raises:
        EnvironmentProblem: the machine lacks disk space or isolation.
        InfraError: a sandbox failed.
    """
    findings = await asyncio.to_thread(lambda: list(changed_files(task)))
    if task.manifest.made_by.team == "real":
        return CheckReport(task_id=task.id, findings=(*findings, *_real_faults(task)))
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="sandmle-check-"))
    check = _Check(task, backend, scratch)
    try:
        with disk_errors(scratch):
            await check.run()
    except UNREADABLE as error:
        check.findings.append(f"can't be read or run again: {' '.join(str(error).split())[:200]}")
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)
    return CheckReport(task_id=task.id, findings=(*findings, *check.findings))


def changed_files(task: Task) -> Iterator[str]:
    """How the folder differs from what its manifest lists."""
    listed, found = task.manifest.files, hash_tree(task.root)
    found.pop("task.json", None)
    for path in sorted(task.root.rglob("*")):
        if path.is_symlink():
            yield f"{path.relative_to(task.root)} is a link"
    for name in sorted(listed.keys() | found.keys()):
        if name not in found:
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{name} is not in the manifest"
        elif listed[name] != found[name]:
            yield f"{name} was changed (its hash is not the manifest's)"
    if task.root.name != task.manifest.id:
        yield f"the folder is called {task.root.name}, the task {task.manifest.id}"


def _real_faults(task: Task) -> Iterator[str]:
    """A real task has no rule, so nothing is run again; its thresholds come from a board, or from its baselines."""
    there = {path.name for path in task.provenance.iterdir()} if task.provenance.exists() else set()
    if strange := sorted(there - REAL_PROVENANCE):
        yield f"task.json says that the task is real, but it has provenance/{strange[0]}"
    if BOARDS in there:
        yield from _board_faults(task)
    elif task.manifest.thresholds is not None and BASELINES not in there:
        yield "task.json says that the task is real, but nothing is there that its thresholds come from"


def _board_faults(task: Task) -> Iterator[str]:
    try:
        boards = read_boards(task)
        thresholds = thresholds_from_leaderboard(boards.private) if boards and boards.private else None
    except BadInput as error:
        yield f"its boards can't be used: {error}"
    else:
        if task.manifest.thresholds != thresholds:
            yield "its thresholds are not those of its board"


class _Check:
    """One task under check: what its provenance says against what comes out when it is made and run again."""

    def __init__(self, task: Task, backend: SandboxBackend, scratch: Path) -> None:
        self.findings: list[str] = []
        self._task = task
        self._backend = backend
        self._runs = scratch / "runs"
        self._rewritten = scratch / "rewritten"

    async def run(self) -> None:
        """Look for everything that can be wrong; what can't be run ends the search."""
        await asyncio.to_thread(self._read)
        plan, provenance = self._plan, self._task.provenance
        self.findings += self._manifest_faults()
        drawn = await draw_data(self._backend, plan, provenance / "generate.py", self._runs)
        if drawn.problem:
            self.findings.append(drawn.problem)
            return
        self.findings += await asyncio.to_thread(lambda: list(self._changed_data()))
        if "developer" in self._task.manifest.made_by.models:
            problem, _ = await relabel(self._backend, plan, self._runs)
            self.findings += [problem] if problem else []
        await self._compare_with_rewritten()
        ran = await trial.run_baselines(self._backend, plan, provenance / "baselines", self._runs)
        if not ran.problem:
            ran = await trial.run_search(self._backend, plan, self._runs)
        if ran.problem:
            self.findings.append(ran.problem)
            return
        evidence = await asyncio.to_thread(load_evidence, plan, self._runs)
        measured = await asyncio.to_thread(calibrate, evidence)
        self.findings += self._moved(measured)
        acceptance = await asyncio.to_thread(accept, evidence, measured)
        if not acceptance.passed:
            self.findings.append(f"no longer accepted: {acceptance.reason}")
        elif moved := _first_difference(acceptance.model_dump(), self._accepted.model_dump()):
            self.findings.append(f"acceptance.json is not what the probes find: {moved}")
        await self._judge_evaluator_and_brief(measured)

    def _read(self) -> None:
        provenance = self._task.provenance
        self._plan = TaskPlan.model_validate_json((provenance / "rule.json").read_bytes())
        self._stored = Calibration.read(provenance / "calibration.json")
        self._accepted = Acceptance.read(provenance / "acceptance.json")

    def _manifest_faults(self) -> Iterator[str]:
        """Where the manifest contradicts the files of provenance."""
        manifest = self._task.manifest
        made = verification.Made(self._plan, manifest.lineage)
        expected = verification.manifest_of(made, self._stored, self._accepted.flags, manifest.files)
        for name in type(manifest).model_fields:
            if name not in ("made_by", "thresholds", "faults") and getattr(manifest, name) != getattr(expected, name):
                yield f"task.json: {name} is not what provenance says"
        terms = tuple(term.readable() for term in Blueprint.of(self._plan).rule.terms())
        if self._plan.rule_terms != terms:
            yield "rule.json: its readable terms are not those of its rule"

    def _changed_data(self) -> Iterator[str]:
        """Data that are not what generate.py writes, and files that are no part of a task."""
        known = FILES | {f"provenance/baselines/{rung}.py" for rung in self._plan.rungs}
        for made, kept in ((self._runs / "redraw-0", self._task.public), (self._runs / "private", self._task.private)):
            for path in sorted(path for path in made.rglob("*") if path.is_file()):
                ours = kept / path.relative_to(made)
                name = ours.relative_to(self._task.root).as_posix()
                known.add(name)
                if not ours.is_file() or ours.read_bytes() != path.read_bytes():
                    yield f"{name} differs from what generate.py writes"
        for name in sorted(self._task.manifest.files.keys() - known):
            yield f"{name} is no file of a task"

    async def _compare_with_rewritten(self) -> None:
        """Find files that are not what the procedural team of this version writes for the rule."""
        made_by, thresholds = self._task.manifest.made_by, self._task.manifest.thresholds
        if made_by.team != "procedural" or made_by.versions.get("sandmle") != __version__ or thresholds is None:
            return
        team = procedural_team(0, "", self._plan.n_train, self._plan.n_test)
        await team.developer.develop(self._plan, self._rewritten, None)
        await team.engineer.write_evaluator(self._plan, thresholds, self._rewritten, None)
        await asyncio.to_thread(verification.lay_out_data, self._runs, self._rewritten)
        briefs = []
        for attempt in range(WORDINGS):
            feedback = Feedback(attempt=attempt, problem="") if attempt else None
            await team.writer.write_brief(self._plan, self._rewritten, feedback)
            briefs.append(await asyncio.to_thread((self._rewritten / "prepared/public/description.md").read_bytes))
        self.findings += await asyncio.to_thread(lambda: list(self._not_rewritten(briefs)))

    def _not_rewritten(self, briefs: list[bytes]) -> Iterator[str]:
        for path in sorted((self._rewritten / "provenance").rglob("*.py")):
            name = path.relative_to(self._rewritten)
            if (self._task.root / name).read_bytes() != path.read_bytes():
                yield f"{name} is not what the team writes for this rule"
        if (self._task.public / "description.md").read_bytes() not in briefs:
            yield "prepared/public/description.md is not what the team writes for this rule"

    def _moved(self, measured: Calibration) -> Iterator[str]:
        """Scores, thresholds and other numbers that are not what was measured."""
        for name, rung in measured.rungs.items():
            there = self._stored.rungs.get(name)
            if there is None or not _alike(rung.private, there.private):
                said = "nothing" if there is None else f"{there.mean:.8g}"
                yield f"baseline {name} scores {rung.mean:.8g}, calibration.json says {said}"
        ours, theirs = self._task.manifest.thresholds, measured.thresholds
        if ours is None or theirs is None:
            yield measured.problem or "task.json has no thresholds"
            return
        for tier, there in theirs.model_dump().items():
            if not _alike(getattr(ours, tier), there):
                yield f"the {tier} threshold is {getattr(ours, tier):.8g}, calibrating anew gives {there:.8g}"
        if moved := _first_difference(measured.model_dump(), self._stored.model_dump()):
            yield f"calibration.json is not what the baselines give: {moved}"

    async def _judge_evaluator_and_brief(self, measured: Calibration) -> None:
        task, plan = self._task, self._plan
        if measured.thresholds is not None:
            verdict, _ = await verification.check_evaluator(self._backend, plan, measured, self._runs, task.root)
            self.findings += [] if verdict.passed else [f"evaluator.py: {verdict.reason}"]
        brief = await asyncio.to_thread(verification.check_brief_of, plan, task.root)
        self.findings += [] if brief.passed else [f"description.md: {brief.reason}"]


def _first_difference(found: Any, stored: Any, path: str = "") -> str:  # noqa: ANN401 - any JSON value
    """Where two JSON values differ first, and how; empty if they are alike."""
    if isinstance(found, dict) and isinstance(stored, dict) and found.keys() == stored.keys():
        pairs = [(f"{path}.{key}", found[key], stored[key]) for key in found]
    elif isinstance(found, list | tuple) and isinstance(stored, list | tuple) and len(found) == len(stored):
        names = [value.get("probe", place) if isinstance(value, dict) else place for place, value in enumerate(found)]
        pairs = [(f"{path}.{name}", one, other) for name, one, other in zip(names, found, stored, strict=True)]
    else:
        return "" if _alike(found, stored) else f"{path.lstrip('.')} is {found!r}, not {stored!r}"
    return next((told for name, one, other in pairs if (told := _first_difference(one, other, name))), "")


def _alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Equal, with numbers compared to 1e-6 relative."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(one == other)
