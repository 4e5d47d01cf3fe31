"""A task: what an agent is asked to solve, as a folder on disk and as the record that describes it.

Vocabulary:
    manifest     ``task.json``: identity, metric, thresholds, lineage and the hash of every file
    public       ``prepared/public``: all that an agent ever sees
    private      ``prepared/private``: the hidden labels (``answers.csv``) and the Bayes predictions
    provenance   rule, generator, baselines, evaluator, calibration and acceptance: how the task came to be
    tier         median, bronze, silver or gold: a score that earns credit
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from sandmle.errors import BadInput
from sandmle.record import Record, VersionedRecord, sha256_json
from sandmle.submission import PredictionKind, SubmissionFormat

__all__ = [
    "TIERS",
    "Lineage",
    "MadeBy",
    "Modality",
    "PredictionKind",
    "ProblemType",
    "StructuralDNA",
    "SubmissionFormat",
    "Task",
    "TaskFlag",
    "TaskLimits",
    "TaskManifest",
    "Thresholds",
    "Tier",
    "load_tasks",
]

Modality = Literal["tabular", "text", "image", "audio", "series", "graph", "multimodal"]
ProblemType = Literal[
    "binary",
    "multiclass",
    "multilabel",
    "ordinal",
    "regression",
    "ranking",
    "forecasting",
    "seq2seq",
    "segmentation",
]
TaskFlag = Literal["undiscoverable"]
TASK_ID = re.compile(r"[a-z0-9][a-z0-9-]*")


class Tier(StrEnum):
    """The four scores that earn credit, worst first."""

    MEDIAN = "median"
    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"


TIERS: tuple[Tier, ...] = tuple(Tier)


class Thresholds(Record):
    """The score that each tier asks for, in the metric's own units; monotone from median to gold.

    They differ from each other, but for those of a real competition's board, whose teams may have tied.
    """

    median: float
    bronze: float
    silver: float
    gold: float

    @field_validator("median", "bronze", "silver", "gold")
    @classmethod
    def _finite(cls, value: float) -> float:
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("a threshold must be a finite number")
        return value

    def reached(self, score: float, *, lower_is_better: bool) -> tuple[Tier, ...]:
        """The tiers that ``score`` reaches; a score equal to a threshold reaches it."""
        sign = -1.0 if lower_is_better else 1.0
        return tuple(tier for tier in TIERS if sign * score >= sign * getattr(self, tier.value))


class TaskLimits(Record):
    """What an agent may use on this task: seconds and MiB per step, and turns per episode."""

    step_seconds: Annotated[float, Field(gt=0)] = 90.0
    memory_mib: Annotated[int, Field(gt=0)] = 4096
    turns: Annotated[int, Field(gt=0)] = 20


class StructuralDNA(Record):
    """A seed's mathematical structure without its domain.

    Attributes:
        n_rows: labelled rows of the seed.
        missing_share: share of empty feature cells, in [0, 1].
        max_cardinality: most levels of any categorical column.
        class_shares: share of each class, largest first; empty for regression.
        target_skew: sample skewness of a numeric target; 0 for classes.
        linear_share: cross-validated headroom of a linear model over that of the better of linear and trees, in [0, 1].
        difficulty: sources of difficulty found in the data, such as ``imbalance`` or ``nonlinearity``.
    """

    modality: Modality
    problem_type: ProblemType
    metric: str
    n_rows: Annotated[int, Field(ge=1)]
    n_numeric: Annotated[int, Field(ge=0)]
    n_categorical: Annotated[int, Field(ge=0)]
    n_ordinal: Annotated[int, Field(ge=0)] = 0
    n_dates: Annotated[int, Field(ge=0)] = 0
    missing_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_cardinality: Annotated[int, Field(ge=0)] = 0
    class_shares: tuple[float, ...] = ()
    target_skew: float = 0.0
    linear_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    difficulty: tuple[str, ...] = ()


class Lineage(Record):
    """Where a task comes from: its seed, and the draw that made it.

    Attributes:
        seed_id: the seed; ``seed_family`` is shared by all variants of one data set.
        batch_seed: the ``--seed`` of the batch; None for a real task.
        candidate: index of the draw, the second word of ``SeedSequence([batch_seed, candidate])``.
        settings_hash: hex hash of all settings that shape the batch.
    """

    seed_id: str
    seed_family: str
    seed_source: Literal["bundled", "folder", "mlebench", "mledojo", "released"]
    batch_seed: int | None = None
    candidate: int | None = None
    settings_hash: str | None = None


class MadeBy(Record):
    """Who and what made a task.

    Attributes:
        team: ``llm`` as soon as a language model played a role; ``imported``: others, see ``sandmle.eval.imports``.
        models: the roles that language models played.
        versions: what fixes its bytes.
    """

    team: Literal["procedural", "llm", "real", "imported"]
    models: tuple[str, ...] = ()
    versions: dict[str, str]


class TaskManifest(VersionedRecord):
    """``task.json``.

    Attributes:
        metric: one of ``sandmle.eval.metrics``; for a task that a benchmark's own code grades, that benchmark's name.
        submission: None where only a benchmark's own code knows the format.
        files: SHA-256 of every other file of the folder, by its POSIX path.
    """

    id: str
    title: str
    modality: Modality
    problem_type: ProblemType
    metric: str
    lower_is_better: bool
    submission: SubmissionFormat | None
    thresholds: Thresholds | None
    limits: TaskLimits = TaskLimits()
    lineage: Lineage
    dna: StructuralDNA | None = None
    made_by: MadeBy
    flags: tuple[TaskFlag, ...] = ()
    faults: tuple[str, ...] = ()
    files: dict[str, str]

    @field_validator("id")
    @classmethod
    def _id_is_portable(cls, value: str) -> str:
        if not TASK_ID.fullmatch(value):
            raise ValueError(f"{value!r} is not a task id: lower-case letters, digits and '-' only")
        return value

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        if self.thresholds is None:
            return self
        sign = -1.0 if self.lower_is_better else 1.0
        values = [sign * getattr(self.thresholds, tier.value) for tier in TIERS]
        if not all(low <= high for low, high in pairwise(values)):
            raise ValueError("thresholds must rise from median to gold in the metric's direction")
        if self.made_by.team != "real" and len(set(values)) < len(values):
            raise ValueError("thresholds must differ from each other; only a real board's may be equal")
        return self

    @property
    def content_hash(self) -> str:
        """Hex hash of the whole task: the manifest with the hash of every file."""
        return sha256_json(self.model_dump(mode="json"))


@dataclass(frozen=True)
class Task:
    """A task folder that has been read: its root and its manifest."""

    root: Path
    manifest: TaskManifest

    @classmethod
    def load(cls, root: Path) -> Self:
        """Read the manifest of the task folder ``root``.

        Raises:
            BadInput: not a folder, or ``task.json`` is missing or broken.
        """
        if not root.is_dir():
            raise BadInput(f"{root}: no such task folder")
        if not (root / "task.json").exists():
            raise BadInput(f"{root}: not a task: it has no task.json")
        return cls(root.resolve(), TaskManifest.read(root / "task.json"))

    @property
    def id(self) -> str:
        """The task's id."""
        return self.manifest.id

    @property
    def public(self) -> Path:
        """All that an agent ever sees."""
        return self.root / "prepared" / "public"

    @property
    def private(self) -> Path:
        """The hidden labels."""
        return self.root / "prepared" / "private"

    @property
    def answers(self) -> Path:
        """The hidden labels: id, target, ``Usage`` and ``canary``."""
        return self.private / "answers.csv"

    @property
    def provenance(self) -> Path:
        """How the task came to be."""
        return self.root / "provenance"


def load_tasks(folder: Path | str) -> list[Task]:
    """All tasks in ``folder`` (or the one task that ``folder`` is), sorted by id.

    Raises:
        BadInput: ``folder`` is missing, holds no task or two with one id, or one of its manifests is broken.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"{root}: no such folder")
    if (root / "task.json").exists():
        return [Task.load(root)]
    tasks = [Task.load(child) for child in sorted(root.iterdir()) if (child / "task.json").exists()]
    if not tasks:
        raise BadInput(f"{root}: no tasks in this folder; make some with `sandmle synthesize --out {root}`")
    known: dict[str, Task] = {}
    for task in tasks:
        if (other := known.setdefault(task.id, task)) is not task:
            raise BadInput(f"{other.root} and {task.root} are both the task {task.id}; move one elsewhere")
    return tasks
