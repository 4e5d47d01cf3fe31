"""The tasks of an experiment: made, tried with constant scripts, and divided into sets."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

import numpy as np

from sandmle.agents.chat.scripted.parts import KINDS
from sandmle.api import agenerate_tasks
from sandmle.errors import BadInput
from sandmle.files import publish_folder
from sandmle.rl.experiments._settings import TaskSettings
from sandmle.rl.splits import TaskTraits, split_tasks
from sandmle.task import Task, load_tasks

__all__ = ["HELD_OUT", "Sets", "divide", "make_tasks", "publish_sets", "sizes", "suitable"]

HELD_OUT = ("same", "other", "unseen")
Sets = Mapping[str, tuple[str, ...]]
"""Ids of tasks by set, ``train`` among them."""


async def make_tasks(settings: TaskSettings, out: Path, tell: Callable[[str], None]) -> list[Task]:
    """Make both batches, or go on making them; the tasks that ask for what ``scripted:mix`` can predict."""
    total = settings.n + settings.n_other
    tell(f"[tasks] making {total}; then come constants, demonstrations, imitation, updates and measuring")
    found: list[Task] = []
    batches = (("own", settings.seeds, settings.n), ("other", settings.other_seeds, settings.n_other))
    for place, (name, seeds, n) in enumerate(batches):
        seed = 2 * settings.batch_seed + place
        async for task in agenerate_tasks(seeds, n, out=out / "made" / name, seed=seed):
            found.append(task)
            tell(f"[tasks] {len(found)}/{total}: {task.id}")
    return suitable(found)


def suitable(tasks: Sequence[Task]) -> list[Task]:
    """The tables among ``tasks`` of which the mix can predict the target."""
    return [
        task
        for task in tasks
        if task.manifest.modality == "tabular" and task.manifest.submission and task.manifest.submission.kind in KINDS
    ]


def divide(settings: TaskSettings, traits: Sequence[TaskTraits], seeds: Mapping[str, str], solved: Set[str]) -> Sets:
    """Divide tasks into sets that share none.

    Training takes no task that no search can solve; held-out sets may hold some. Where too few tasks are left, a set is
    smaller than asked.

    Args:
        settings: the sizes, and which seeds are held out.
        traits: of all tasks.
        seeds: each task's seed.
        solved: tasks on which a constant script reaches gold; they are left out.

    Raises:
        BadInput: no task is left for one of the sets.
    """
    left = [each for each in sorted(traits, key=lambda task: task.id) if each.id not in solved]
    other = tuple(each.id for each in left if seeds[each.id] in settings.other_seeds)
    own = [each for each in left if each.id not in other]
    split = split_tasks(own, "composition", str(settings.unseen), settings.batch_seed, with_undiscoverable=True)
    known = {each.id: each for each in own if each.id in split.train}
    order = [sorted(known)[index] for index in np.random.default_rng(settings.batch_seed).permutation(len(known))]
    train = [name for name in order if known[name].discoverable][: settings.train]
    same = [name for name in order if name not in train][: settings.same]
    sets = {"train": tuple(train), "same": tuple(same), "other": other[: settings.other], "unseen": split.validation}
    if empty := [name for name, ids in sets.items() if not ids]:
        raise BadInput(f"of {len(traits)} tasks none is left for the set {empty[0]!r}; raise tasks.n or tasks.n_other")
    return sets


def sizes(sets: Mapping[str, Sequence[object]], settings: TaskSettings) -> str:
    """One line: how many tasks each set has, and how many were asked for where it has fewer."""
    told = []
    for name, found in sets.items():
        asked = getattr(settings, name)
        told.append(f"{len(found)} {name}" + (f" (of {asked} asked)" if len(found) < asked else ""))
    return ", ".join(told)


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
