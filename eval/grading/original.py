"""Grading by a benchmark's own code, in a process and with an interpreter of its own.

A task that asks for it keeps ``provenance/original.json``, which names the benchmark and the competition. Where the
benchmark is installed is a matter of the machine, so it stands in the settings, not in the task.

    {"submission": path, "public": dir, "private": dir, "competition": id} ──stdin──▶ SCRIPT ──stdout──▶ Verdict

``prepared/private/original`` holds the hidden files as the benchmark's own code wants them. A script that exits with an
error says that the submission can't be scored: the originals crash on some invalid files, and one file must not end a
batch. One that prints no verdict or names a problem is our own affair, never a score; and so is one that is killed or
takes too long, if the sample submission fares no better: else a submission could get itself out of every mean.

The process is outside of any sandbox, so it runs nobody's code but the benchmark's: its installed package, or the copy
that `sandmle suites prepare` made of it on this machine. It sees none of our keys. What it says of a submission may
quote hidden labels, so it goes to the log, and into a report its kind alone.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.grades import GradeError
from sandmle.record import Record, VersionedRecord
from sandmle.settings import get_settings
from sandmle.task import Task

__all__ = ["HIDDEN", "ORIGINAL", "OriginalGrader", "Verdict", "read_original", "require_original", "score_by_original"]

ORIGINAL = "original.json"
HIDDEN = "original"
"""Folder of ``prepared/private`` that holds a benchmark's own hidden files."""
SECONDS = 600.0
_LAST_LINES = 400
Package = Literal["mle-bench", "mle-dojo"]
_SETTINGS: Mapping[Package, str] = {"mle-bench": "mlebench_python", "mle-dojo": "mledojo_python"}
SCRIPTS: dict[Package, str] = {
    "mle-bench": files("sandmle.eval.grading.originals").joinpath("mle_bench.py").read_text(encoding="utf-8"),
    "mle-dojo": files("sandmle.eval.grading.originals").joinpath("mle_dojo.py").read_text(encoding="utf-8"),
}
"""The program that each benchmark's interpreter runs, by its name."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Variables that the process sees."""

_log = logging.getLogger("sandmle.eval")


class OriginalGrader(VersionedRecord):
    """Which benchmark's code grades a task, and what it calls the task."""

    package: Package
    competition: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class _Cut(InfraError):
    """A grader's process was killed, or took too long."""


class Verdict(Record):
    """What a script prints: a score, the code of the fault and its detail, or what is wrong with the installation."""

    score: float | None = None
    error: GradeError | None = None
    detail: str = ""
    problem: str = ""


def read_original(task: Task) -> OriginalGrader | None:
    """Which original grades ``task``; None where our own grader does.

    Raises:
        BadInput: the file that says so is broken.
    """
    path = task.provenance / ORIGINAL
    return OriginalGrader.read(path) if path.is_file() else None


def require_original(task: Task) -> None:
    """See that a task's original grader, if it has one, may run and that the interpreter is there which it needs.

    Raises:
        BadInput: the grader's code came with the task, and from elsewhere than ``sandmle suites prepare``.
        EnvironmentProblem: there is no such interpreter; says how to set it.
    """
    if original := read_original(task):
        _refuse_foreign(task, original)
        _interpreter(original.package)


def score_by_original(task: Task, original: OriginalGrader, data: bytes) -> float:
    """The score that the benchmark's own code gives the submission ``data``.

    Raises:
        BadInput: the grader's code came with the task, and from elsewhere than ``sandmle suites prepare``.
        InvalidSubmission: it gives none, or dies.
        EnvironmentProblem: the benchmark is not installed where the settings say, or lacks a library.
        InfraError: its answer can't be read; or it is killed or takes longer than ``SECONDS``, and so with the sample
            submission.
    """
    _refuse_foreign(task, original)
    try:
        return _scored(task, original, data)
    except _Cut as cut:
        sample = task.public / "sample_submission.csv"
        if not sample.is_file():
            raise
        with suppress(InvalidSubmission):
            _scored(task, original, sample.read_bytes())
        raise _refusal(original.package, GradeError.METRIC_UNDEFINED, str(cut)) from cut


def _scored(task: Task, original: OriginalGrader, data: bytes) -> float:
    python = _interpreter(original.package)
    with tempfile.TemporaryDirectory(prefix="sandmle-grade-") as scratch:
        submission = Path(scratch) / "submission.csv"
        submission.write_bytes(data)
        request = {
            "submission": str(submission),
            "public": str(task.public),
            "private": str(task.private / HIDDEN),
            "competition": original.competition,
        }
        printed = _run(original.package, python, json.dumps(request), Path(scratch))
    try:
        verdict = Verdict.model_validate_json(printed.strip().rpartition("\n")[2])
    except ValidationError as error:
        raise InfraError(f"the grader of {original.package} printed no verdict: {printed[-_LAST_LINES:]}") from error
    if verdict.problem:
        raise EnvironmentProblem(
            f"{original.package} can't grade {original.competition} with {python}: {verdict.problem}"
        )
    if verdict.score is None:
        raise _refusal(original.package, verdict.error or GradeError.UNPARSABLE, verdict.detail)
    return verdict.score


def _refuse_foreign(task: Task, original: OriginalGrader) -> None:
    """MLE-Dojo's metrics lie in the task, so that the task must be one that was prepared here."""
    prepared = get_settings().data_dir / "suites" / original.package
    if original.package == "mle-dojo" and task.root.resolve().parent != prepared.resolve():
        raise BadInput(
            f"{task.root} wants to be graded by code of its own; that runs only for the tasks in {prepared}, which"
            " `sandmle suites prepare mle-dojo` makes"
        )


def _refusal(package: Package, code: GradeError, told: str) -> InvalidSubmission:
    _log.info("%s: %s: %s", package, code.value, told)
    kind = re.match(r"[A-Za-z_.]+(?=:)", told)
    return InvalidSubmission(code, f"{package}'s own grader refuses it" + (f" ({kind[0]})" if kind else ""))


def _interpreter(package: Package) -> Path:
    name = _SETTINGS[package]
    python: Path | None = getattr(get_settings(), name)
    python = python and python.absolute()
    if python is None or not python.exists():
        raise EnvironmentProblem(
            f"{package} grades this task with its own code: install it in an environment of its own and set"
            f" SANDMLE_{name.upper()} to that environment's python"
        )
    return python


def _run(package: Package, python: Path, request: str, folder: Path) -> str:
    """What the package's script prints for ``request`` in the empty folder ``folder``."""
    command = [str(python), "-B", "-c", SCRIPTS[package]]
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise _Cut(f"the original grader took longer than {SECONDS:g} s") from error
    except OSError as error:
        raise EnvironmentProblem(f"{command[0]}: {error.strerror}") from error
    last = done.stderr.strip().rpartition("\n")[2][-_LAST_LINES:]
    if done.returncode < 0:
        raise _Cut(f"the original grader was ended by signal {-done.returncode}: {last}")
    if done.returncode:
        raise _refusal(package, GradeError.UNPARSABLE, last)
    return done.stdout
