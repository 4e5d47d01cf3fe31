"""What every kind of suite offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandmle.errors import BadInput
from sandmle.settings import get_settings
from sandmle.task import Task, load_tasks

__all__ = ["GraderName", "Preparation", "Sources", "Suite", "SuiteKind"]

GraderName = Literal["sandmle", "original"]


@dataclass(frozen=True)
class Suite:
    """A set of tasks.

    Attributes:
        name: as the user wrote it.
        tasks: sorted by id; at least one.
    """

    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Sources:
    """Where a suite's parts lie on this machine; None where the kind does without.

    Attributes:
        data: the benchmark's prepared data.
        checkout: the benchmark's own code.
        grader: ``sandmle`` grades with our graders, ``original`` with the benchmark's own code in another process.
    """

    data: Path | None = None
    checkout: Path | None = None
    grader: GraderName = "sandmle"


@dataclass(frozen=True)
class Preparation:
    """What came of preparing one member of a suite.

    Attributes:
        name: the member's own name.
        task: its task folder; None where there is none.
        reason: why not, and what to do about it; of a task that was there already, just that.
    """

    name: str
    task: Task | None
    reason: str = ""


class SuiteKind:
    """A kind of suite. A kind without ``place`` is prepared into a folder of its own, where ``load`` finds it.

    Attributes:
        name: as users write it.
        about: one line.
        place: what follows the colon, such as ``DIR``; empty where nothing does.
        how: the command that prepares it; empty where nothing needs preparing.
    """

    name: str
    about: str
    place: str = ""
    how: str = ""

    @property
    def folder(self) -> Path:
        """Where the prepared tasks of a kind without a place lie."""
        return get_settings().data_dir / "suites" / self.name

    def load(self, place: str) -> tuple[Task, ...]:
        """The tasks, sorted by id.

        Raises:
            BadInput: there are none; says which command gets them.
        """
        if not self.prepared():
            raise BadInput(f"suite {self.name}: not prepared on this machine; run `{self.how}`")
        return self.prepared()

    def prepared(self) -> tuple[Task, ...]:
        """The tasks that lie prepared on this machine, sorted by id; empty where there are none."""
        if not any(self.folder.glob("*/task.json")):
            return ()
        return tuple(load_tasks(self.folder))

    def prepare(self, sources: Sources, on_done: Callable[[Preparation], None]) -> None:
        """Make the tasks in ``folder`` from ``sources``; tasks that are there already stay.

        Args:
            sources: where the parts lie.
            on_done: called for each member as it is done.

        Raises:
            BadInput: a source is missing or broken; says where it comes from.
        """
        raise BadInput(f"suite {self.name}:{self.place} needs no preparation; give it to --suite as it is")
