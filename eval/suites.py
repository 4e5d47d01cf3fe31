"""Suites: named sets of tasks that an evaluation runs on, written ``KIND:WHERE`` on the command line.

Kinds: ``synthetic:DIR`` is the task folders in DIR (or the one task that DIR is).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.task import Task, load_tasks

__all__ = ["Suite", "load_suite", "suite_kinds"]


@dataclass(frozen=True)
class Suite:
    """A set of tasks.

    Attributes:
        name: as the user wrote it.
        tasks: sorted by id; at least one.
    """

    name: str
    tasks: tuple[Task, ...]


def _synthetic(where: str) -> tuple[Task, ...]:
    return tuple(load_tasks(Path(where).expanduser()))


_KINDS: dict[str, Callable[[str], tuple[Task, ...]]] = {"synthetic": _synthetic}


def suite_kinds() -> tuple[str, ...]:
    """The kinds of suite there are, sorted."""
    return tuple(sorted(_KINDS))


def load_suite(name: str) -> Suite:
    """Read the tasks of the suite ``KIND:WHERE``.

    Raises:
        BadInput: the kind is unknown (lists those there are), or its folder is missing, empty or broken.
    """
    kind, colon, where = name.partition(":")
    if kind not in _KINDS:
        raise BadInput(f"unknown suite {name!r}; write KIND:WHERE with KIND one of {', '.join(suite_kinds())}")
    if not colon or not where:
        raise BadInput(f"suite {name!r} names no folder; write {kind}:DIR")
    return Suite(name, _KINDS[kind](where))
