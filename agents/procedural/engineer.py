"""The procedural MLOps Engineer: writes a standalone evaluator that carries the metric's own source."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.procedural._render import render_to
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.eval.grading import MAX_BYTES, MAX_TEXT
from sandmle.eval.metrics import get_metric
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import PredictionKind, Thresholds

__all__ = ["ProceduralEngineer"]

READERS: dict[PredictionKind, tuple[str, str]] = {
    "label": ("label", "label"),
    "probability": ("number", "label"),
    "class_probabilities": ("number", "label"),
    "label_probabilities": ("number", "label_set"),
    "label_set": ("label_set", "label_set"),
    "ranked_labels": ("ranking", "label"),
    "relevance": ("number", "number"),
    "number": ("number", "number"),
    "text": ("text", "text"),
    "mask": ("mask", "mask"),
}
"""The functions of the template that read a cell of a submission and one of the answers."""
PROBABILITIES = COLUMN_PER_CLASS | {"probability"}


class ProceduralEngineer:
    """Renders ``evaluator.py`` from its template; the keys it prints are those of the authors' released tasks."""

    async def write_evaluator(
        self, plan: TaskPlan, thresholds: Thresholds, workdir: Path, feedback: Feedback | None
    ) -> None:
        """Write ``provenance/evaluator.py``; the template is the same at every attempt."""
        await asyncio.to_thread(_write, plan, thresholds, workdir / "provenance" / "evaluator.py")


def _write(plan: TaskPlan, thresholds: Thresholds, path: Path) -> None:
    metric = get_metric(plan.metric)
    reader, truth_reader = READERS[metric.prediction]
    render_to(
        path,
        "evaluator.py.j2",
        task_id=plan.task_id,
        target=plan.target,
        submission=plan.submission,
        reader=reader,
        truth_reader=truth_reader,
        numeric=reader == "number",
        domain=(0.0, 1.0) if metric.prediction in PROBABILITIES else metric.domain,
        lower_is_better=metric.lower_is_better,
        thresholds=thresholds,
        max_bytes=MAX_BYTES,
        max_text=MAX_TEXT,
        metric_source=metric.source(),
    )
