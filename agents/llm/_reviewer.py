"""The reviewer as a model: the opponent of the Writer, who knows the rule and looks for it in the brief."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from sandmle.agents.llm._asking import RolePlayer, written
from sandmle.agents.llm._plan_words import told_to_all
from sandmle.agents.llm._reading import Unusable, read_json
from sandmle.agents.roles import TaskPlan
from sandmle.record import Record

__all__ = ["LlmReviewer"]


class Fault(Record):
    """One fault of a brief: the words that are wrong, as they stand there, and why."""

    quote: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Review(Record):
    """All that a reviewer finds wrong."""

    faults: tuple[Fault, ...] = Field(max_length=20)


class LlmReviewer:
    """Asks for faults; one that quotes what the brief does not say is not counted."""

    def __init__(self, player: RolePlayer) -> None:
        self._player = player

    async def review(self, plan: TaskPlan, workdir: Path, attempt: int) -> str:
        """What is wrong with the brief, one line a fault; empty if nothing."""
        brief = await asyncio.to_thread((workdir / "prepared/public/description.md").read_text, "utf-8")
        told = told_to_all(plan)
        task = await written(
            "reviewer_task",
            **{name: told[name] for name in ("title", "target", "metric", "direction", "columns", "submission")},
            rule=plan.rule_terms,
            brief=brief,
        )

        def read(text: str) -> Review:
            review = read_json(text, Review)
            said = " ".join(brief.split())
            for fault in review.faults:
                if " ".join(fault.quote.split()) not in said:
                    raise Unusable(f"the brief does not say {fault.quote!r}; quote it word for word")
            return review

        review = await self._player.ask(task, read, candidate=plan.candidate, attempt=attempt)
        return "; ".join(f"{fault.quote!r}: {fault.why}" for fault in review.faults)
