"""The tasks of an experiment: made, tried with constant scripts, and divided into sets."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sandmle.agents.chat.scripted.parts import KINDS
from sandmle.api import agenerate_tasks
from sandmle.errors import BadInput
from sandmle.files import publish_folder
from sandmle.rl.experiments._constants import ConstantScore
from sandmle.rl.experiments._settings import TaskSettings
from sandmle.rl.splits import TaskTraits, read_traits, split_tasks
from sandmle.task import Task, load_tasks

__all__ = ["HELD_OUT", "Sets", "divide", "make_tasks", "publish_sets"]

HELD_OUT = ("same", "other", "unseen")
Sets = Mapping[str, tuple[str, ...]]
"""Ids of tasks by set, ``train`` among them."""


async def make_tasks(settings: TaskSettings, out: Path, tell: Callable[[str], None]) -> list[Task]:
    """Make both batches, or go on making them; the tasks that ask for what ``scripted:mix`` can predict."""
    found: list[Task] = []
    batches = (("own", settings.seeds, settings.n), ("other", settings.other_seeds, settings.n_other))
    for place, (name, seeds, n) in enumerate(batches):
        seed = 2 * settings.batch_seed + place
        async for task in agenerate_tasks(seeds, n, out=out / "made" / name, seed=seed):
            found.append(task)
            tell(f"[tasks] {len(found)}: {task.id}")
    return suitable(found)


def suitable(tasks: Sequence[Task]) -> list[Task]:
    """The tables among ``tasks`` of which the mix can predict the target."""
    return [
        task
        for task in tasks
        if task.manifest.modality == "tabular" and task.manifest.submission and task.manifest.submission.kind in KINDS
    ]


def divide(settings: TaskSettings, tasks: Sequence[Task], scores: Sequence[ConstantScore]) -> Sets:
    """Divide the tasks on which no constant script reaches gold.

    Training takes no task that no search can solve; held-out sets may hold some, as real life does.

    Raises:
        BadInput: too few tasks are left for one of the sets.
    """
    solved = {score.task_id for score in scores if score.gold}
    left = [each for each in read_traits(tasks) if each.id not in solved]
    other = _of_families(left, {task.id: task for task in tasks}, settings.other_seeds)
    own = [each for each in left if each.id not in other]
    split = split_tasks(own, "composition", str(settings.unseen), settings.batch_seed, with_undiscoverable=True)
    rest = {each.id: each for each in own if each.id in split.train}
    order = [sorted(rest)[index] for index in np.random.default_rng(settings.batch_seed).permutation(len(rest))]
    train = tuple([name for name in order if rest[name].discoverable][: settings.train])
    same = tuple([name for name in order if name not in train][: settings.same])
    sets = {"train": train, "same": same, "other": other[: settings.other], "unseen": split.validation}
    if empty := [name for name, ids in sets.items() if not ids]:
        raise BadInput(
            f"no task is left for the set {empty[0]!r}, of {len(tasks)} made; raise tasks.n or tasks.n_other"
        )
    return sets


def _of_families(left: Sequence[TaskTraits], tasks: Mapping[str, Task], seeds: Sequence[str]) -> tuple[str, ...]:
    """Ids of the tasks whose seed is one of ``seeds``."""
    return tuple(each.id for each in left if tasks[each.id].manifest.lineage.seed_id in seeds)


def publish_sets(sets: Sets, tasks: Sequence[Task], out: Path) -> dict[str, list[Task]]:
    """Copy each set into a folder of its own, once, and load it from there."""
    by_id = {task.id: task for task in tasks}
    for name, ids in sets.items():
        if not (out / name).exists():
            scratch = out / f".{name}"
            shutil.rmtree(scratch, ignore_errors=True)
            for task_id in ids:
                shutil.copytree(by_id[task_id].root, scratch / task_id)
            publish_folder(scratch, out / name)
    return {name: load_tasks(out / name) for name in sets}
