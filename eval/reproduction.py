"""Are the tasks in a folder those that a revealed suite consists of? They are made again and compared by content hash.

All of them, or a sample: a slot of a batch depends on lower slots only in that it may not resemble their tasks, so that
it can be made on its own where those are known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sandmle.eval.commitment import SuiteSettings
from sandmle.files import hash_tree
from sandmle.graphs.synthesis import Batch, SynthesisState, builder, synthesize
from sandmle.graphs.synthesis.novelty import Fingerprint
from sandmle.graphs.synthesis.workshop import Workshop
from sandmle.record import Record
from sandmle.task import Task, load_tasks

__all__ = ["Reproduction", "open_suite", "reproduce"]


class Reproduction(Record):
    """What came of making ``made`` slots again: ``findings`` is empty where all tasks are those of the suite."""

    made: int
    findings: tuple[str, ...]


def open_suite(settings: SuiteSettings, seed: int, out: Path) -> Batch:
    """The batch of a suite.

    Raises:
        BadInput: the settings can't be used here: an unknown seed, or a number out of its range.
    """
    return Batch.open(
        out,
        settings.seeds,
        n=settings.n,
        seed=seed,
        n_train=settings.n_train,
        n_test=settings.n_test,
        mix=settings.mix,
    )


async def reproduce(
    folder: Path,
    batch: Batch,
    n: int,
    *,
    sample: int | None,
    jobs: int,
    on_done: Callable[[str, bool], None] = lambda _, __: None,
) -> Reproduction:
    """Compare the tasks in ``folder`` with those that are made again in ``batch``.

    Args:
        folder: the tasks that are said to be the suite.
        batch: the suite, to be made in an empty folder of its own.
        n: slots of the suite.
        sample: tasks to make again, drawn at random from those in ``folder``; None for all slots.
        jobs: sandbox steps at once.
        on_done: called with the id of every task that was made again and whether it is the same.

    Raises:
        BadInput: ``folder`` holds no tasks.
    """
    there = {task.id: task for task in load_tasks(folder)}
    findings = [line for task in there.values() for line in _foreign(task, batch, n)]
    if findings:
        return Reproduction(made=0, findings=tuple(findings))
    if sample is None:
        made = {record.slot: record.task_id async for record in synthesize(batch, n, jobs=jobs)}
    else:
        rng = np.random.default_rng()
        slots = sorted(_slot(task, batch) for task in there.values())
        chosen = sorted(int(slot) for slot in rng.choice(slots, min(sample, len(slots)), replace=False))
        made = {slot: await _make_alone(slot, batch, list(there.values()), jobs) for slot in chosen}
    for task in there.values():
        slot = _slot(task, batch)
        if slot in made and made[slot] != task.id:
            findings.append(f"{task.id}: the suite has {made[slot] or 'no task'} in its place")
    for task_id in filter(None, made.values()):
        fault = await asyncio.to_thread(_difference, there.get(task_id), Task.load(batch.out / task_id))
        findings += [fault] if fault else []
        on_done(task_id, not fault)
    return Reproduction(made=len(made), findings=tuple(findings))


def _slot(task: Task, batch: Batch) -> int:
    return (task.manifest.lineage.candidate or 0) // batch.context.max_draws


def _foreign(task: Task, batch: Batch, n: int) -> list[str]:
    """What a task says of itself that no task of the suite would say."""
    lineage = task.manifest.lineage
    if lineage.batch_seed != batch.context.batch_seed:
        return [f"{task.id}: made with another seed"]
    if lineage.settings_hash != batch.context.settings_hash():
        return [f"{task.id}: made with other settings"]
    if lineage.candidate is None or not 0 <= _slot(task, batch) < n:
        return [f"{task.id}: beyond the {n} slots of the suite"]
    try:
        Fingerprint.read(task.root)
    except (OSError, ValueError, LookupError):
        return [f"{task.id}: its rule or its brief can't be read"]
    return []


def _difference(there: Task | None, made: Task) -> str:
    if there is None:
        return f"{made.id}: is missing"
    ours, theirs = hash_tree(made.root), hash_tree(there.root)
    changed = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return f"{made.id}: {changed[0]} is not that of the suite" if changed else ""


async def _make_alone(slot: int, batch: Batch, tasks: Sequence[Task], jobs: int) -> str | None:
    """Make the task of one slot; the tasks of lower slots are those of the folder."""
    workshop = Workshop.open(batch.context, jobs=jobs)
    for task in tasks:
        if _slot(task, batch) < slot:
            workshop.novelty.add(await asyncio.to_thread(Fingerprint.read, task.root))
    seed, modality = batch.slots(slot + 1)[slot]
    context = batch.context.model_copy().equip(workshop)
    try:
        values = (
            await builder().compile().ainvoke(SynthesisState(seed=seed, slot=slot, modality=modality), context=context)
        )
    finally:
        await workshop.backend.aclose()
    return SynthesisState.model_validate(values).task_id
