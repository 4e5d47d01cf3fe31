"""What a candidate is, in a few words, and how far it came: what the funnel and the dataset card count.

drawn         the Strategist has decided
generated     generator and baselines ran
ordered       dummy < best generic < informed on the mean of the redraws
separable     each step beyond doubt, and headroom left
leak_free     every probe of acceptance passed
published     on disk, and no near-duplicate of a lower slot's task
"""

from __future__ import annotations

from typing import Literal

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance import Calibration
from sandmle.record import Record
from sandmle.task import Modality, ProblemType

__all__ = ["REACHED", "Reached", "Traits", "how_far"]

Reached = Literal["drawn", "generated", "ordered", "separable", "leak_free", "published"]
REACHED: tuple[Reached, ...] = ("drawn", "generated", "ordered", "separable", "leak_free", "published")


class Traits(Record):
    """The coordinates of a candidate.

    Attributes:
        kind: of task, such as ``segmentation`` within the modality ``image``.
        noise: of the rule, see its docstring.
        primitives: kinds of the rule's terms, sorted.
        difficulty: the rule's own estimate, in [0, 1].
    """

    kind: str
    modality: Modality
    problem_type: ProblemType
    link: str
    metric: str
    domain: str
    noise: float
    primitives: tuple[str, ...]
    difficulty: float

    @classmethod
    def of(cls, plan: TaskPlan) -> Traits:
        """The traits of a plan of the procedural team."""
        blueprint = Blueprint.of(plan)
        return cls(
            kind=blueprint.kind,
            modality=plan.modality,
            problem_type=plan.problem_type,
            link=blueprint.rule.link,
            metric=plan.metric,
            domain=blueprint.domain,
            noise=blueprint.rule.noise,
            primitives=blueprint.rule.primitives(),
            difficulty=blueprint.rule.difficulty(),
        )


def how_far(calibration: Calibration | None, *, separable: bool) -> Reached:
    """How far a candidate came whose ladder was measured, or not."""
    if calibration is None:
        return "drawn"
    if separable:
        return "separable"
    return "ordered" if all(step.difference > 0 for step in calibration.steps) else "generated"
