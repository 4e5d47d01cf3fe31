"""The procedural MLOps Engineer: writes a standalone evaluator that carries the metric's own source."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.procedural._render import render_to
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.eval.metrics import get_metric
from sandmle.task import Thresholds

__all__ = ["ProceduralEngineer"]


class ProceduralEngineer:
    """Renders ``evaluator.py`` from its template; the keys it prints are those of the authors' released tasks."""

    async def write_evaluator(
        self, plan: TaskPlan, thresholds: Thresholds, workdir: Path, feedback: Feedback | None
    ) -> None:
        """Write ``provenance/evaluator.py``; the template is the same at every attempt."""
        await asyncio.to_thread(_write, plan, thresholds, workdir / "provenance" / "evaluator.py")


def _write(plan: TaskPlan, thresholds: Thresholds, path: Path) -> None:
    metric = get_metric(plan.metric)
    domain = (0.0, 1.0) if metric.prediction in ("probability", "class_probabilities") else metric.domain
    render_to(
        path,
        "evaluator.py.j2",
        task_id=plan.task_id,
        target=plan.target,
        submission=plan.submission,
        domain=domain,
        lower_is_better=metric.lower_is_better,
        thresholds=thresholds,
        metric_source=metric.source(),
    )
