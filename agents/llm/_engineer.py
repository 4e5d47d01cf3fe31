"""The MLOps Engineer as a model: a standalone evaluator."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.llm._asking import RolePlayer, written
from sandmle.agents.llm._plan_words import told_to_all
from sandmle.agents.llm._reading import read_files
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.eval.grading import MAX_BYTES
from sandmle.eval.metrics import get_metric
from sandmle.files import write_text
from sandmle.grades import GradeError
from sandmle.task import Thresholds

__all__ = ["LlmEngineer"]

NAME = "evaluator.py"


class LlmEngineer:
    """Asks for ``evaluator.py``, with the metric's own source at hand."""

    def __init__(self, player: RolePlayer) -> None:
        self._player = player

    async def write_evaluator(
        self, plan: TaskPlan, thresholds: Thresholds, workdir: Path, feedback: Feedback | None
    ) -> None:
        """Write ``provenance/evaluator.py``, or mend it."""
        path = workdir / "provenance" / NAME
        metric = get_metric(plan.metric)
        told = told_to_all(plan)
        task = await written(
            "engineer_task",
            **{name: told[name] for name in ("title", "target", "metric", "direction", "submission", "labels")},
            thresholds=thresholds.model_dump(),
            lower_is_better=metric.lower_is_better,
            domain=metric.domain,
            metric_source=metric.source(),
            errors=", ".join(GradeError),
            max_bytes=MAX_BYTES,
            evaluator=await asyncio.to_thread(path.read_text, "utf-8") if feedback and path.exists() else "",
            problem=feedback.problem if feedback else "",
        )
        found = await self._player.ask(
            task,
            lambda text: read_files(text, (NAME,)),
            candidate=plan.candidate,
            attempt=feedback.attempt if feedback else 0,
        )
        await asyncio.to_thread(write_text, path, found[NAME])
