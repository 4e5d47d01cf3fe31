"""Reading a folder of tasks: the tasks themselves, and the slots in ``.sandmle`` where they are still there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import NOISE
from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Acceptance, Calibration
from sandmle.graphs.synthesis.batch import BatchSettings, SlotRecord
from sandmle.graphs.synthesis.card._record import Dimension
from sandmle.graphs.synthesis.novelty import Fingerprint
from sandmle.graphs.synthesis.readiness import TaskReadiness, read_readiness, searched_scores
from sandmle.graphs.synthesis.traits import Traits
from sandmle.task import Task, load_tasks

if TYPE_CHECKING:
    from sandmle.agents.procedural.problems import Link

__all__ = ["LEVELS", "NAMES", "Candidate", "Collected", "KeptTask", "collect", "noise_level"]

LEVELS = ("low", "medium", "high")
"""Of noise."""


@dataclass(frozen=True)
class KeptTask:
    """A task and all that its folder says."""

    task: Task
    traits: Traits
    structure: tuple[str, ...]
    fingerprint: Fingerprint
    calibration: Calibration
    search: Mapping[int, float]
    readiness: TaskReadiness | None


@dataclass(frozen=True)
class Candidate:
    """One drawn candidate; ``cpu_s`` are the CPU seconds spent on it."""

    traits: Traits
    kept: bool
    cpu_s: float


@dataclass(frozen=True)
class Collected:
    """A folder of tasks; ``slots`` is empty and ``settings`` None where ``.sandmle`` is gone."""

    folder: Path
    tasks: tuple[KeptTask, ...]
    slots: tuple[SlotRecord, ...]
    settings: BatchSettings | None

    def candidates(self) -> list[Candidate]:
        """Every candidate of the settled slots of which there is a plan."""
        found = []
        for slot in self.slots:
            found += [
                Candidate(given_up.traits, False, given_up.cpu_s) for given_up in slot.rejections if given_up.traits
            ]
            if slot.traits is not None:
                found.append(Candidate(slot.traits, True, slot.cpu_s or 0.0))
        return found


def collect(folder: Path) -> Collected:
    """Read a folder of tasks.

    Raises:
        BadInput: it holds no tasks, or something in it can't be read.
    """
    tasks = tuple(_kept(folder, task) for task in load_tasks(folder))
    names = {kept.task.id for kept in tasks}
    slots = [SlotRecord.read(path) for path in sorted((folder / ".sandmle" / "slots").glob("*.json"))]
    batch = folder / ".sandmle" / "batch.json"
    return Collected(
        folder=folder,
        tasks=tasks,
        slots=tuple(slot for slot in slots if slot.task_id is None or slot.task_id in names),
        settings=BatchSettings.read(batch) if batch.exists() and slots else None,
    )


def _kept(folder: Path, task: Task) -> KeptTask:
    rule = task.provenance / "rule.json"
    try:
        plan = TaskPlan.model_validate_json(rule.read_bytes())
        blueprint = Blueprint.of(plan)
        brief = (task.public / "description.md").read_text(encoding="utf-8")
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a plan of the procedural team"
        raise BadInput(f"{rule}: {reason}; a card needs tasks made by `sandmle synthesize`") from error
    return KeptTask(
        task=task,
        traits=Traits.of(plan),
        structure=blueprint.rule.structure(),
        fingerprint=Fingerprint.of(plan, brief),
        calibration=Calibration.read(task.provenance / "calibration.json"),
        search=searched_scores(Acceptance.read(task.provenance / "acceptance.json")),
        readiness=read_readiness(folder, task),
    )


def noise_level(traits: Traits) -> str:
    """Low, medium or high: the level of the link that the noise is closest to, on a logarithmic scale."""
    levels = NOISE[cast("Link", traits.link)]
    distances = [abs(math.log(traits.noise / level)) for level in levels]
    return LEVELS[distances.index(min(distances))]


NAMES: Mapping[Dimension, Callable[[Traits], tuple[str, ...]]] = {
    "modality": lambda traits: (traits.modality,),
    "kind": lambda traits: (traits.kind,),
    "noise": lambda traits: (noise_level(traits),),
    "primitive": lambda traits: traits.primitives,
    "domain": lambda traits: (traits.domain,),
    "metric": lambda traits: (traits.metric,),
}
"""The groups that a candidate belongs to."""
