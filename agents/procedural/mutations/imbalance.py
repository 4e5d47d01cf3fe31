"""A rare positive class."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import AnyRule, HiddenRule
from sandmle.agents.procedural.schema import TableSchema

__all__ = ["Imbalance"]

UNSUITED = ("accuracy", "brier")
"""Metrics that hardly tell a rare class from none."""


@register
class Imbalance(Mutation):
    """Lowers the share of the positive class."""

    kind: Literal["imbalance"] = "imbalance"
    share: Annotated[float, Field(gt=0, le=0.5)]

    def changed(self, rule: AnyRule) -> AnyRule:
        return rule.model_copy(update={"shares": (self.share,)}) if isinstance(rule, HiddenRule) else rule

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        if problem.link != "binary" or problem.metric in UNSUITED:
            return None
        return cls(share=round(float(rng.uniform(0.1, 0.2)), 2))
