"""State and context of the synthesis graph.

Vocabulary:
    slot         a place in the batch that ends with one published task, or none
    candidate    one draw of the Strategist; slot ``s`` may draw candidates ``s * max_draws`` and following
    rejection    why a candidate was given up
    work folder  where a candidate grows: ``task/`` like the task it may become, ``runs/`` for what was measured on it

Everything large lives in the work folder; the state holds small records, so that a person can read it in Studio.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, PrivateAttr

from sandmle.agents.llm import TeamSettings, parse_team
from sandmle.agents.roles import Role, TaskPlan
from sandmle.eval.acceptance import Calibration
from sandmle.graphs.synthesis.traits import Reached, Traits
from sandmle.graphs.synthesis.workshop import Workshop
from sandmle.record import Record, sha256_json
from sandmle.task import Modality

__all__ = ["Rejection", "Stage", "SynthesisContext", "SynthesisState"]

Stage = Literal["plan", "scripts", "thresholds", "evaluator", "brief", "verification", "novelty", "budget", "review"]
Route = Literal["onward", "retry", "reject"]
Strictness = Literal["standard", "discoverable"]


class Rejection(Record):
    """A candidate that was given up, at which check, and why.

    Attributes:
        traits: None where the Strategist gave no plan.
        reached: how far it came.
        cpu_s: CPU seconds spent on it.
    """

    candidate: int
    stage: Stage
    reason: str
    traits: Traits | None
    reached: Reached
    cpu_s: float


class SynthesisState(BaseModel):
    """What travels through the graph.

    Attributes:
        seed: id of the seed, or path of a folder seed.
        draws: candidates drawn so far in this slot, the current one included.
        attempts: how often each role's work on the current candidate was sent back.
        problem: what the last check found wrong; empty if nothing.
        calibration: the measured scores of the current candidate.
        route: where the last check sends the candidate.
        reached: how far the current candidate came.
        discoverable: whether the search found enough of the current candidate's rule; None before it was judged.
        cpu_s: CPU seconds spent on the current candidate, in sandboxes and on probes.
        rung_cpu_s: CPU seconds of each baseline, the largest of its redraws.
        tokens: of all calls of language models in this slot, rejected candidates included; ``money`` is their price.
    """

    seed: str = Field(default="iris", description="Id of a seed (see `sandmle seeds list`), or path of a seed folder")
    slot: int = Field(default=0, ge=0, description="Place in the batch")
    modality: Modality | None = Field(default=None, description="Modality of the task; the seed's own if empty")
    draws: int = 0
    plan: TaskPlan | None = None
    attempts: dict[Role, int] = Field(default_factory=dict)
    problem: str = ""
    stage: Stage = "thresholds"
    calibration: Calibration | None = None
    route: Route = "onward"
    reached: Reached = "drawn"
    discoverable: bool | None = None
    cpu_s: float = 0.0
    rung_cpu_s: dict[str, float] = Field(default_factory=dict)
    tokens: int = 0
    money: float = 0.0
    rejections: list[Rejection] = Field(default_factory=list)
    outcome: Literal["published", "discarded"] | None = None
    task_id: str | None = None

    def planned(self) -> TaskPlan:
        """The current candidate's plan."""
        if self.plan is None:
            raise ValueError("no candidate has been drawn yet")
        return self.plan

    def calibrated(self) -> Calibration:
        """The current candidate's scores."""
        if self.calibration is None:
            raise ValueError("the baselines have not been run yet")
        return self.calibration


class SynthesisContext(BaseModel):
    """Settings of a run, the same for all slots of a batch."""

    out: str = Field(default="tasks", description="Folder that gets the finished tasks")
    batch_seed: int = Field(default=0, ge=0, description="Seed of the batch; fixes every task")
    team: str = Field(
        default="procedural",
        description="Who plays the roles: procedural, llm, paper, local-vllm, a .toml file, or such as writer=llm",
    )
    n_train: int = Field(default=200, ge=50, le=1000, description="Training rows of a task")
    n_test: int | None = Field(
        default=None, ge=500, le=20000, description="Hidden test rows of a task; what suits its kind if empty"
    )
    mix: str = Field(default="seed", description="Modalities of a batch: seed, paper, even, or such as image=2,text=1")
    max_draws: int = Field(default=8, ge=1, description="Candidates a slot may draw before it is given up")
    max_attempts: int = Field(default=3, ge=0, description="How often a role may mend its work on one candidate")
    strictness: Strictness = Field(
        default="standard",
        description="standard flags tasks whose rule the search does not discover; discoverable drops them",
    )
    review: bool = Field(default=False, description="Stop before publishing and ask a person")
    replies: str | None = Field(
        default=None, description="Folder of the remembered replies of language models; inside `out` if empty"
    )
    offline: bool = Field(default=False, description="Use remembered replies only; send no request to a model")

    _workshop: Workshop | None = PrivateAttr(default=None)
    _team: TeamSettings | None = PrivateAttr(default=None)

    def equip(self, workshop: Workshop) -> SynthesisContext:
        """This context with the given team and sandboxes in place of those it would make itself."""
        self._workshop = workshop
        return self

    def workshop(self) -> Workshop:
        """Team and sandboxes, made on first use."""
        if self._workshop is None:
            self._workshop = Workshop.open(self)
        return self._workshop

    def players(self) -> TeamSettings:
        """Who plays the roles, read once: a file may change while a batch runs."""
        if self._team is None:
            self._team = parse_team(self.team)
        return self._team

    def shaping(self) -> dict[str, Any]:
        """The settings that decide on every task; the seed of the batch and folders are not among them."""
        names = {"n_train", "n_test", "mix", "max_draws", "max_attempts"}
        found = {"team": "procedural", **self.model_dump(mode="json", include=names)}
        if "llm" in self.players().players().values():
            found["team"] = self.players().shaping()
        if self.strictness != "standard":
            found["strictness"] = self.strictness
        return found

    def settings_hash(self) -> str:
        """Hash of the settings that shape every task."""
        return sha256_json(self.shaping())

    def work(self, slot: int) -> Path:
        """The work folder of a slot."""
        return Path(self.out).resolve() / ".sandmle" / "work" / f"{slot:05d}"
