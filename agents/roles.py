"""The synthesis team: what each role is asked for. The procedural team implements it; a language model may too.

Vocabulary:
    plan        what the Data Strategist decides: domain, columns, hidden rule, metric, sizes
    workdir     the folder of one candidate, laid out like the task that it may become
    feedback    why the role's last work was sent back, with measured numbers; None the first time

Roles write files into the workdir; they neither run nor judge them. Whatever they write is run in a sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

from pydantic import Field

from sandmle.errors import SandmleError
from sandmle.eval.acceptance import Calibration
from sandmle.record import Record
from sandmle.seeds import Seed
from sandmle.task import Modality, ProblemType, StructuralDNA, SubmissionFormat, Thresholds

__all__ = [
    "BASELINE_RUNGS",
    "ROLES",
    "DataStrategist",
    "Feedback",
    "MLDeveloper",
    "MLOpsEngineer",
    "Player",
    "Reviewer",
    "Role",
    "RoleFailure",
    "TaskPlan",
    "Team",
    "TechnicalWriter",
]

Role = Literal["strategist", "developer", "engineer", "writer", "reviewer"]
ROLES: tuple[Role, ...] = get_args(Role)
Player = Literal["procedural", "llm"]
"""Who plays a role: code of ours, or a language model, whose every word is distrusted."""
BASELINE_RUNGS = ("dummy", "linear", "trees", "blend", "informed")


class RoleFailure(SandmleError):
    """A role gave nothing that can be used, although it was told what was wrong; the candidate is given up."""


class TaskPlan(Record):
    """What the Data Strategist decides on one draw.

    Attributes:
        task_id: id of the task that this candidate may become; ``candidate`` is its index in the batch.
        train_seeds: seeds of the training redraws; the first makes the published training set.
        test_seed: seed of the hidden test set.
        n_train: training rows; ``n_test`` hidden test rows.
        rungs: the baselines that the Developer writes; ``dummy`` first, ``informed`` last.
        rows_apart: whether a training row is the same however many test rows there are; not so where all rows are drawn
            together, such as nodes of one network.
        preload: modules that its scripts import, so that a runner can import them once for all.
        declared_shift: columns whose law differs between train and test, as the brief says.
        rule_terms: the readable terms of the hidden rule, which no brief may contain.
        details: what the team itself needs to carry on, as JSON (schema, rule, domain).
    """

    task_id: str
    candidate: Annotated[int, Field(ge=0)]
    title: str
    modality: Modality
    problem_type: ProblemType
    metric: str
    target: str
    submission: SubmissionFormat
    dna: StructuralDNA
    train_seeds: tuple[int, ...] = Field(min_length=1)
    test_seed: int
    n_train: Annotated[int, Field(ge=20)]
    n_test: Annotated[int, Field(ge=100)]
    rungs: tuple[str, ...] = BASELINE_RUNGS
    rows_apart: bool = False
    preload: tuple[str, ...] = ()
    declared_shift: tuple[str, ...] = ()
    rule_terms: tuple[str, ...]
    details: Mapping[str, Any]


class Feedback(Record):
    """Why work came back.

    Attributes:
        attempt: how often this role has worked on this candidate already, from 1.
        problem: one sentence for a person or a model.
        calibration: the measured scores, where the baselines ran.
    """

    attempt: Annotated[int, Field(ge=1)]
    problem: str
    calibration: Calibration | None = None


class DataStrategist(Protocol):
    """Reads a seed and decides what to make of it."""

    async def try_seed(self, seed: Seed, modality: Modality | None = None) -> None:
        """Raise BadInput if nothing can be made of the seed, before a batch begins."""
        ...

    async def plan(self, seed: Seed, candidate: int, modality: Modality | None = None) -> TaskPlan:
        """Draw a candidate in the given modality or the seed's own; the same arguments always give the same plan."""
        ...


class MLDeveloper(Protocol):
    """Writes the generator and the baselines."""

    async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
        """Write ``provenance/{rule.json,generate.py,baselines/*.py}``; returns the plan with what was adjusted."""
        ...


class MLOpsEngineer(Protocol):
    """Writes the evaluator."""

    async def write_evaluator(
        self, plan: TaskPlan, thresholds: Thresholds, workdir: Path, feedback: Feedback | None
    ) -> None:
        """Write ``provenance/evaluator.py``."""
        ...


class TechnicalWriter(Protocol):
    """Writes the brief."""

    async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
        """Write ``prepared/public/description.md``."""
        ...


class Reviewer(Protocol):
    """Reads the brief as the opponent of its writer, knowing the rule."""

    async def review(self, plan: TaskPlan, workdir: Path, attempt: int) -> str:
        """What the brief gives away or gets wrong, in words for the writer; empty if nothing."""
        ...


@dataclass
class Team:
    """Who plays each role.

    Attributes:
        reviewer: None where the probes alone judge a brief.
        players: recorded in the manifest; a role that a model plays is distrusted, and its code never runs unisolated.
    """

    strategist: DataStrategist
    developer: MLDeveloper
    engineer: MLOpsEngineer
    writer: TechnicalWriter
    reviewer: Reviewer | None
    players: Mapping[Role, Player]

    @property
    def kind(self) -> Player:
        """``llm`` as soon as a model plays any role."""
        return "llm" if "llm" in self.players.values() else "procedural"
