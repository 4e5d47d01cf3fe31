"""The blueprint: what the procedural team knows of a candidate beyond the plan. Travels in ``TaskPlan.details``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from sandmle.agents.procedural.lexicon import Domain, Setting, get_domain
from sandmle.agents.procedural.mutations import AnyMutation
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.rules import AnyRule
from sandmle.agents.procedural.schema import TableSchema
from sandmle.agents.roles import TaskPlan
from sandmle.record import Record

__all__ = ["Blueprint"]


class Blueprint(Record):
    """Domain, kind of task, problem, factors and hidden rule.

    Attributes:
        kind: name of the kind of task, see ``kinds``.
        table: the factors that the rule reads; for tables the public columns.
        content: the kind's own record, as JSON.
        mutations: what goes wrong with the table before competitors get it.
        setting: the words of a domain that is not in the lexicon.
    """

    domain: str
    kind: str
    problem: Problem
    table: TableSchema
    rule: AnyRule
    content: Mapping[str, Any] = Field(default_factory=dict)
    mutations: tuple[AnyMutation, ...] = ()
    setting: Setting | None = None

    @classmethod
    def of(cls, plan: TaskPlan) -> Self:
        """The blueprint that travels in ``plan``."""
        return cls.model_validate(dict(plan.details))

    def lexicon(self) -> Domain:
        """The entry of the lexicon."""
        return get_domain(self.domain)

    def world(self) -> Setting:
        """The words of the domain, in the lexicon or not."""
        return self.setting or self.lexicon()
