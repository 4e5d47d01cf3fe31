"""Splits of a folder of tasks into training and validation that say something about generalisation.

    iid           validation tasks are drawn at random
    family        no seed family is on both sides
    domain        no domain is on both sides
    composition   pairs of kinds of term that no training rule holds together, though it may hold each alone
    primitive     kinds of term that occur in no training rule

Vocabulary:
    trait         what a held-out split looks at in a task: its family, its domain, its kinds of term, or their pairs
    held out      the traits that were chosen so that no training task has one; a task that has one is for validation
    kept aside    tasks on neither side: undiscoverable ones, and what a preset leaves over
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from sandmle.errors import BadInput
from sandmle.record import Record, VersionedRecord, sha256_json
from sandmle.task import Task

__all__ = [
    "PAPER",
    "Split",
    "SplitKind",
    "TaskTraits",
    "bare_traits",
    "paper_split",
    "parse_validation",
    "read_split",
    "read_traits",
    "split_of",
    "split_tasks",
]

SplitKind = Literal["iid", "family", "domain", "composition", "primitive"]
PAPER = (848, 64)
"""Training and validation tasks of the SandMLE paper."""
TRIES = 64
JOINED = " + "


class TaskTraits(Record):
    """What a split looks at in a task; ``content_hash`` is the task's."""

    id: str
    content_hash: str
    family: str
    domain: str
    primitives: tuple[str, ...]
    discoverable: bool = True


class Split(VersionedRecord):
    """``splits/<by>.json``; all lists are sorted.

    Attributes:
        seed: of the random choice.
        tasks_hash: over ids and content hashes of all tasks of the folder.
        asked: validation tasks asked for; a held-out split has at most so many.
        held_out: the chosen traits, which no training task has; pairs are joined by `` + ``. Empty for iid.
        train: ids, as are ``validation`` and the two lists below.
        undiscoverable: kept aside because no search finds the rule.
        spare: kept aside because a preset takes no more.
    """

    by: SplitKind
    seed: int
    tasks_hash: str
    asked: int
    held_out: tuple[str, ...]
    train: tuple[str, ...]
    validation: tuple[str, ...]
    undiscoverable: tuple[str, ...]
    spare: tuple[str, ...] = ()


TRAITS: Mapping[SplitKind, Callable[[TaskTraits], frozenset[str]]] = {
    "family": lambda task: frozenset({task.family}),
    "domain": lambda task: frozenset({task.domain}),
    "composition": lambda task: frozenset(map(JOINED.join, combinations(sorted(task.primitives), 2))),
    "primitive": lambda task: frozenset(task.primitives),
}


def read_traits(tasks: Sequence[Task]) -> list[TaskTraits]:
    """What splits look at in tasks of the procedural team.

    Raises:
        BadInput: a task has no rule that can be read; names it.
    """
    from pydantic import ValidationError

    from sandmle.agents.procedural.blueprint import Blueprint
    from sandmle.agents.roles import TaskPlan

    found = []
    for task in tasks:
        path = task.provenance / "rule.json"
        try:
            blueprint = Blueprint.of(TaskPlan.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError) as error:
            raise BadInput(f"{path}: no rule of the procedural team; a split needs one of every task") from error
        found.append(
            TaskTraits(
                id=task.id,
                content_hash=task.manifest.content_hash,
                family=task.manifest.lineage.seed_family,
                domain=blueprint.domain,
                primitives=blueprint.rule.primitives(),
                discoverable="undiscoverable" not in task.manifest.flags,
            )
        )
    return found


def bare_traits(tasks: Sequence[Task]) -> list[TaskTraits]:
    """What an iid split looks at in any tasks, which need no rule."""
    return [
        TaskTraits(
            id=task.id,
            content_hash=task.manifest.content_hash,
            family="",
            domain="",
            primitives=(),
            discoverable="undiscoverable" not in task.manifest.flags,
        )
        for task in tasks
    ]


def parse_validation(text: str, tasks: int) -> int:
    """The number of validation tasks behind ``N`` or a share such as ``0.1`` or ``10%`` of ``tasks``.

    Raises:
        BadInput: neither, or it leaves no task for training or for validation.
    """
    number = _share(text, tasks) if not text.isdecimal() else int(text)
    if number is None:
        raise BadInput(f"--validation: give a number of tasks such as 64, or a share such as 0.1 or 10%, not {text!r}")
    if not 1 <= number < tasks:
        raise BadInput(f"--validation: {text} of {tasks} usable tasks leaves no task for training or for validation")
    return number


def _share(text: str, tasks: int) -> int | None:
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return None
    return round(share * tasks) if 0 < share < 1 else None


def split_tasks(
    tasks: Sequence[TaskTraits], by: SplitKind, validation: str, seed: int, *, with_undiscoverable: bool = False
) -> Split:
    """Split tasks; equal arguments give equal splits, whatever the order of ``tasks``.

    Args:
        tasks: all tasks of a folder.
        by: what is held out.
        validation: number or share of validation tasks; a held-out split has as many as its traits allow, no more.
        seed: of the random choice, >= 0.
        with_undiscoverable: also use tasks whose rule no search finds.

    Raises:
        BadInput: the split is impossible; says why and what would be possible.
    """
    usable, aside = _usable(tasks, with_undiscoverable)
    asked = parse_validation(validation, len(usable))
    rng = np.random.default_rng([seed, zlib.crc32(by.encode())])
    if by == "iid":
        chosen, held_out = {usable[int(index)].id for index in rng.permutation(len(usable))[:asked]}, set[str]()
    else:
        chosen, held_out = _hold_out(usable, by, asked, rng)
    return Split(
        by=by,
        seed=seed,
        tasks_hash=_tasks_hash(tasks),
        asked=asked,
        held_out=tuple(sorted(held_out)),
        train=tuple(task.id for task in usable if task.id not in chosen),
        validation=tuple(sorted(chosen)),
        undiscoverable=aside,
    )


def read_split(folder: Path, name: str) -> Split:
    """The split of a folder of tasks that ``sandmle split`` wrote to ``splits/NAME.json``.

    Raises:
        BadInput: there is none, or it can't be read.
    """
    path = folder / "splits" / f"{name}.json"
    if not path.is_file():
        raise BadInput(f"{path}: no such split; make one with `sandmle split {folder} --preset paper` or `--by`")
    return Split.read(path)


def split_of(folder: Path, name: str, tasks: Sequence[Task]) -> Split:
    """As ``read_split``, for ``tasks``, which are all that the folder has now.

    Raises:
        BadInput: see ``read_split``; or the split was made of other tasks.
    """
    found, there = read_split(folder, name), {task.id for task in tasks}
    if missing := {*found.train, *found.validation} - there:
        fault = f"it names {min(missing)}, which is not there"
    elif found.tasks_hash != _tasks_hash(bare_traits(tasks)):
        fault = "it was made of other tasks than are there now"
    else:
        return found
    raise BadInput(f"{folder}: the split {name} does not fit, {fault}; make it anew with `sandmle split`")


def paper_split(
    tasks: Sequence[TaskTraits], seed: int, *, sizes: tuple[int, int] = PAPER, with_undiscoverable: bool = False
) -> Split:
    """The paper's iid split into 848 and 64 tasks, or one of other ``sizes``; of fewer tasks the same shares.

    Raises:
        BadInput: there are too few tasks to split.
    """
    usable, _ = _usable(tasks, with_undiscoverable)
    train, validation = sizes
    whole = min(len(usable), train + validation)
    asked = max(round(whole * validation / (train + validation)), 1)
    found = split_tasks(tasks, "iid", str(asked), seed, with_undiscoverable=with_undiscoverable)
    surplus = len(found.train) - (whole - asked)
    order = np.random.default_rng([seed, zlib.crc32(b"spare")]).permutation(len(found.train))
    spare = {found.train[int(index)] for index in order[:surplus]}
    kept = tuple(name for name in found.train if name not in spare)
    return found.model_copy(update={"train": kept, "spare": tuple(sorted(spare))})


def _usable(tasks: Sequence[TaskTraits], with_undiscoverable: bool) -> tuple[list[TaskTraits], tuple[str, ...]]:
    ordered = sorted(tasks, key=lambda task: task.id)
    aside = tuple(task.id for task in ordered if not (task.discoverable or with_undiscoverable))
    usable = [task for task in ordered if task.id not in set(aside)]
    if len(usable) < 2:
        raise BadInput(f"{len(usable)} usable tasks ({len(aside)} undiscoverable ones are kept aside) can't be split")
    return usable, aside


def _tasks_hash(tasks: Sequence[TaskTraits]) -> str:
    return sha256_json(sorted([task.id, task.content_hash] for task in tasks))


def _hold_out(
    tasks: Sequence[TaskTraits], by: SplitKind, asked: int, rng: np.random.Generator
) -> tuple[set[str], set[str]]:
    """The validation tasks and the traits that they have and no other: the fullest of some random tries."""
    members: dict[str, set[str]] = {}
    for task in tasks:
        for trait in TRAITS[by](task):
            members.setdefault(trait, set()).add(task.id)
    names = sorted(members)
    best: tuple[set[str], set[str]] = set(), set()
    for _ in range(TRIES):
        order = [names[int(index)] for index in rng.permutation(len(names))]
        found = _fill(order, members, asked, {task.id: task for task in tasks} if by == "composition" else {})
        if (len(found[0]), -len(found[1])) > (len(best[0]), -len(best[1])):
            best = found
        if len(best[0]) == asked:
            break
    if not best[0]:
        raise BadInput(_impossible(by, members, asked, len(tasks)))
    return best


def _fill(
    order: Sequence[str], members: Mapping[str, set[str]], asked: int, by_id: Mapping[str, TaskTraits]
) -> tuple[set[str], set[str]]:
    """Hold out traits in the given order while their tasks are no more than asked for."""
    chosen: set[str] = set()
    held_out: set[str] = set()
    for trait in order:
        more = chosen | members[trait]
        if len(more) == len(chosen) or len(more) > asked:
            continue
        if by_id and not _known_apart({*held_out, trait}, (task for name, task in by_id.items() if name not in more)):
            continue
        chosen = more
        held_out.add(trait)
    return chosen, held_out


def _known_apart(pairs: set[str], train: Iterable[TaskTraits]) -> bool:
    """Whether every kind of term of the held-out pairs still occurs in training."""
    wanted = {kind for pair in pairs for kind in pair.split(JOINED)}
    for task in train:
        wanted.difference_update(task.primitives)
        if not wanted:
            return True
    return not wanted


def _impossible(by: SplitKind, members: Mapping[str, set[str]], asked: int, tasks: int) -> str:
    if by in ("family", "domain") and len(members) == 1:
        return f"all tasks are of one {by} ({next(iter(members))}): it can't be held out; use --by iid"
    smallest = min(map(len, members.values()), default=tasks)
    if smallest > asked:
        advice = f"ask for --validation {smallest} or more" if smallest < tasks else "use another --by"
        return (
            f"{asked} validation tasks are too few to hold out any {by}: the rarest has {smallest} of {tasks} tasks;"
            f" {advice}"
        )
    return f"no {by} can be held out such that its parts still occur in training; ask for another --validation"
