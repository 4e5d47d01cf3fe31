"""The procedural Technical Writer: a brief that a competition host would accept, and that keeps the rule to itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.procedural._render import render_to
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.lexicon import BinaryTarget, MulticlassTarget, RegressionTarget
from sandmle.agents.procedural.schema import CategoricalColumn, Column, DateColumn, NumericColumn, OrdinalColumn
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.errors import SandmleError
from sandmle.eval.metrics import get_metric

__all__ = ["ProceduralWriter"]

WORDINGS = (
    {"background": "Background", "goal": "Goal"},
    {"background": "About the competition", "goal": "Your task"},
    {"background": "Overview", "goal": "What to predict"},
)
METRIC_NOTES = {
    "accuracy": "It is the share of rows whose label is right.",
    "macro_f1": "It is the unweighted mean of the F1 scores of the classes.",
    "mcc": "It lies between -1 and 1; a constant prediction scores 0.",
    "roc_auc": "Only the order of the submitted probabilities matters.",
    "log_loss": "Probabilities are clipped away from 0 and 1 before the logarithm is taken.",
    "multiclass_log_loss": "The probabilities of a row are rescaled to sum to 1, then clipped before the logarithm.",
    "rmse": "It is in the units of the target.",
    "mae": "It is in the units of the target.",
    "r2": "It is 1 for a perfect prediction and about 0 for the mean.",
    "rmsle": "Errors count in proportion to the value rather than in its units; negative predictions are refused.",
    "mape": "It is a fraction: 0.1 means ten percent.",
}


class ProceduralWriter:
    """Renders ``description.md`` from its template; each attempt uses the next wording."""

    async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
        """Write ``prepared/public/description.md``."""
        attempt = feedback.attempt if feedback else 0
        await asyncio.to_thread(_write, plan, workdir / "prepared" / "public", attempt)


def _write(plan: TaskPlan, public: Path, attempt: int) -> None:
    blueprint = Blueprint.of(plan)
    goal = blueprint.target(plan)
    wording = WORDINGS[(plan.candidate + attempt) % len(WORDINGS)]
    sample = (public / "sample_submission.csv").read_text(encoding="utf-8").splitlines()
    render_to(
        public / "description.md",
        "description.md.j2",
        plan=plan,
        wording=wording,
        domain=blueprint.lexicon(),
        goal=goal,
        table=blueprint.table,
        metric=get_metric(plan.metric),
        metric_note=METRIC_NOTES[plan.metric],
        kind_of=_kind_of,
        has_missing=any(column.missing for column in blueprint.table.columns),
        asked=_asked(plan, goal),
        target_values=_target_values(goal),
        columns_note=_columns_note(plan),
        header=sample[0],
        example="\n".join(sample[1:3]),
    )


def _kind_of(column: Column) -> str:
    match column:
        case NumericColumn(unit=""):
            return "number"
        case NumericColumn(unit=unit):
            return f"number ({unit})"
        case CategoricalColumn(levels=levels):
            return f"category: {', '.join(levels)}"
        case OrdinalColumn(levels=levels):
            return f"ordered category: {' < '.join(levels)}"
        case DateColumn():
            return "date (YYYY-MM-DD)"
        case _:
            raise SandmleError(f"the writer has no words for a column of kind {column.kind!r}")


def _asked(plan: TaskPlan, goal: BinaryTarget | MulticlassTarget | RegressionTarget) -> str:
    if isinstance(goal, RegressionTarget):
        return f"the value of `{plan.target}`"
    if plan.submission.kind == "probability":
        return f"the probability that `{plan.target}` is `{goal.labels[1]}`"
    if plan.submission.kind == "class_probabilities":
        return f"a probability for each value of `{plan.target}`"
    return f"the value of `{plan.target}`"


def _target_values(goal: BinaryTarget | MulticlassTarget | RegressionTarget) -> str:
    if isinstance(goal, RegressionTarget):
        return f" ({goal.unit})" if goal.unit else ""
    return f": {', '.join(f'`{label}`' for label in goal.labels)}"


def _columns_note(plan: TaskPlan) -> str:
    form = plan.submission
    names = ", ".join(f"`{name}`" for name in form.prediction_columns)
    match form.kind:
        case "label":
            return f"{names} holds one of the labels {', '.join(f'`{name}`' for name in form.classes)}."
        case "probability":
            return f"{names} holds the probability of `{form.classes[1]}`, between 0 and 1."
        case "class_probabilities":
            return f"The columns {names} hold one probability per class, between 0 and 1."
        case "number":
            return f"{names} holds a number."
