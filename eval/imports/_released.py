"""``import_released``: one task of a bundle, from quarantine to a verified task folder, or refused with the reason."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from sandmle import __version__
from sandmle.errors import BadInput
from sandmle.eval.imports._bundle import Bundle, broken_sums, copy_public, open_bundle
from sandmle.eval.imports._evaluator import Printed, one_line, run_evaluator
from sandmle.eval.imports._leaks import find_leak
from sandmle.eval.imports._recognise import Recognised, recognise
from sandmle.eval.imports._record import IMPORT, QUARANTINE, ImportRecord, ImportReport, Refused
from sandmle.eval.imports._tables import read_table, read_tables
from sandmle.files import PUBLIC_TIME, SCRATCH, disk_errors, hash_tree, publish_folder, write_text
from sandmle.sandboxes import SandboxBackend
from sandmle.task import TIERS, Lineage, MadeBy, Modality, ProblemType, TaskManifest, Thresholds, Tier

__all__ = ["import_released"]

MAX_REASON = 500
MAX_TITLE = 200
MAX_HEAD = 10_000
"""Characters of a description in which its title is looked for."""
SUFFIXES: dict[Modality, tuple[str, ...]] = {"image": (".png", ".jpg", ".jpeg"), "audio": (".wav",)}
WORDY = 5.0
"""Mean number of words in the cells of a column from which on a table counts as text."""


async def import_released(root: Path, out: Path, backend: SandboxBackend) -> ImportReport:
    """Verify the task in ``root`` and write it as ``out/<id>``; if it was brought in before, it is replaced.

    Nothing of a refused task is written to ``out``.

    Raises:
        EnvironmentProblem: ``out`` can't be written, or the machine can't isolate the evaluator.
        InfraError: the sandbox failed.
    """
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=out, prefix=SCRATCH))
        try:
            task, told = await _import(root, scratch, backend)
            await asyncio.to_thread(publish_folder, scratch / task, out / task)
        except Refused as reason:
            return ImportReport(bundle_id=one_line(root.name), reason=one_line(str(reason))[:MAX_REASON])
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, True)
    return ImportReport(bundle_id=root.name, task_id=task, told=told)


async def _import(root: Path, scratch: Path, backend: SandboxBackend) -> tuple[str, str]:
    """Make the whole task below ``scratch``; its id, and what to tell.

    Raises:
        Refused: something is wrong with it.
    """
    bundle = await asyncio.to_thread(open_bundle, root)
    if broken := await asyncio.to_thread(broken_sums, root):
        raise Refused(broken)
    task_id = bundle.task_id
    await asyncio.to_thread(_check_free, scratch.parent / task_id, bundle.id)
    folder = scratch / task_id
    quarantine = folder / "provenance" / QUARANTINE
    await asyncio.to_thread(_set_apart, bundle, quarantine)

    async def run(submissions: Sequence[bytes]) -> list[Printed]:
        return await run_evaluator(backend, quarantine, bundle.evaluator, submissions)

    tables = await asyncio.to_thread(read_tables, bundle.public, bundle.root / bundle.answers)
    sample = await asyncio.to_thread((bundle.public / "sample_submission.csv").read_bytes)
    shown, again = await run([sample, sample])
    if shown.score is None:
        raise Refused(f"its evaluator gives the sample submission no score: {shown.problem}")
    if shown != again:
        raise Refused("its evaluator does not print the same for the same submission twice")
    found = await recognise(tables, sample, shown, run, task_id)
    thresholds = _verified(shown, found)
    if leak := await asyncio.to_thread(find_leak, bundle, found):
        raise Refused(leak)
    await asyncio.to_thread(_write, bundle, folder, found, shown, thresholds)
    return task_id, _told(bundle, found)


def _check_free(target: Path, bundle_id: str) -> None:
    """Refuse to replace a task that is not this one of an earlier import."""
    try:
        free = not target.exists() or ImportRecord.read(target / "provenance" / IMPORT).bundle_id == bundle_id
    except BadInput:
        free = False
    if not free:
        raise Refused(f"{target} is another task; choose another folder")


def _set_apart(bundle: Bundle, quarantine: Path) -> None:
    for name in (bundle.evaluator, bundle.answers):
        (quarantine / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle.root / name, quarantine / name)


def _verified(shown: Printed, found: Recognised) -> Thresholds:
    """The thresholds, once direction, order and both ends of the scale are as they must be.

    Raises:
        Refused: they are not.
    """
    lower, thresholds, metric = shown.lower_is_better, shown.thresholds, found.reading.metric
    if thresholds is None:
        raise Refused("its evaluator does not print four thresholds")
    if lower != metric.lower_is_better:
        raise Refused(
            f"its evaluator says that {'lower' if lower else 'higher'} is better, but it scores {metric.name}"
        )
    sign = -1.0 if lower else 1.0
    values = [sign * getattr(thresholds, tier.value) for tier in TIERS]
    if values != sorted(set(values)):
        raise Refused(f"its thresholds do not rise from median to gold: {thresholds.model_dump()}")
    perfect = found.perfect.score
    if perfect is None or Tier.GOLD not in thresholds.reached(perfect, lower_is_better=lower):
        raise Refused(f"the answers themselves score {perfect} and do not earn gold")
    if shown.score is not None and Tier.BRONZE in thresholds.reached(shown.score, lower_is_better=lower):
        raise Refused(f"the sample submission scores {shown.score:g} and earns a medal")
    return thresholds


def _write(bundle: Bundle, folder: Path, found: Recognised, shown: Printed, thresholds: Thresholds) -> None:
    public = folder / "prepared" / "public"
    copy_public(bundle, public)
    answers = found.reading.candidate.answers(found.tables, folder.name).to_csv(index=False, lineterminator="\n")
    write_text(folder / "prepared" / "private" / "answers.csv", answers)
    record = ImportRecord(
        bundle_id=bundle.id,
        evaluator=bundle.evaluator,
        answers=bundle.answers,
        probes=found.probes,
        worst_difference=found.worst,
        alike=found.alike,
        sample_score=shown.score or 0.0,
        perfect_score=found.perfect.score or 0.0,
    )
    write_text(folder / "provenance" / IMPORT, record.to_text())
    for path in public.rglob("*"):
        os.utime(path, (PUBLIC_TIME, PUBLIC_TIME))
    manifest = TaskManifest(
        id=folder.name,
        title=_title(public / "description.md") or bundle.id,
        modality=_modality(public),
        problem_type=_problem_type(found),
        metric=found.reading.metric.name,
        lower_is_better=shown.lower_is_better,
        submission=found.reading.candidate.form,
        thresholds=thresholds,
        lineage=Lineage(seed_id=bundle.id, seed_family=bundle.id, seed_source="released"),
        made_by=MadeBy(team="imported", versions={"sandmle": __version__}),
        files=hash_tree(folder),
    )
    write_text(folder / "task.json", manifest.to_text())


def _title(description: Path) -> str:
    with description.open(encoding="utf-8", errors="replace") as stream:
        lines = stream.read(MAX_HEAD).splitlines()
    return next((one_line(line.lstrip("#"))[:MAX_TITLE] for line in lines if line.startswith("#")), "")


def _modality(public: Path) -> Modality:
    """By the files there are, and whether a test column holds sentences; a guess for people, on which nothing rests."""
    suffixes = {path.suffix.lower() for path in public.rglob("*")}
    for modality, known in SUFFIXES.items():
        if suffixes & set(known):
            return modality
    test = read_table(public / "test.csv")
    wordy = any(test[name].map(lambda cell: len(cell.split())).mean() >= WORDY for name in test)
    return "text" if wordy else "tabular"


def _problem_type(found: Recognised) -> ProblemType:
    """The first of the metric's problems that suits the number of classes."""
    known = found.reading.metric.problem_types
    wanted = "binary" if len(found.reading.candidate.form.classes) == 2 else "multiclass"
    return next(each for each in (wanted, *get_args(ProblemType)) if each in known)


def _told(bundle: Bundle, found: Recognised) -> str:
    metric, form = found.reading.metric.name, found.reading.candidate.form.kind
    alike = f" (or {', '.join(found.alike)})" if found.alike else ""
    secrets = f"; {' and '.join(bundle.open_secrets)} quarantined" if bundle.open_secrets else ""
    return f"scores {metric}{alike} of a {form.replace('_', ' ')}, alike on {found.probes} submissions{secrets}"
