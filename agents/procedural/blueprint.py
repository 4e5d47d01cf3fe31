"""The blueprint: what the procedural team knows of a candidate beyond the plan. Travels in ``TaskPlan.details``."""

from __future__ import annotations

from typing import Self

from sandmle.agents.procedural.lexicon import BinaryTarget, Domain, MulticlassTarget, RegressionTarget, get_domain
from sandmle.agents.procedural.rules import HiddenRule
from sandmle.agents.procedural.schema import TableSchema
from sandmle.agents.roles import TaskPlan
from sandmle.record import Record

__all__ = ["Blueprint"]


class Blueprint(Record):
    """Domain, columns and hidden rule; ``classes`` are the target's labels in order, empty for numbers."""

    domain: str
    table: TableSchema
    rule: HiddenRule
    classes: tuple[str, ...]

    @classmethod
    def of(cls, plan: TaskPlan) -> Self:
        """The blueprint that travels in ``plan``."""
        return cls.model_validate(dict(plan.details))

    def lexicon(self) -> Domain:
        """The entry of the lexicon."""
        return get_domain(self.domain)

    def target(self, plan: TaskPlan) -> BinaryTarget | MulticlassTarget | RegressionTarget:
        """The entry of the lexicon for what the task asks for."""
        targets = self.lexicon().targets
        match plan.problem_type:
            case "binary":
                return targets.binary
            case "multiclass":
                return targets.multiclass
            case "regression":
                return targets.regression
