"""The procedural Technical Writer: a brief that a competition host would accept, and that keeps the rule to itself."""

from __future__ import annotations

import asyncio
import zlib
from pathlib import Path

from sandmle.agents.procedural._render import render_to
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.eval.metrics import get_metric

__all__ = ["ProceduralWriter"]

WORDINGS = {
    "background": ("Background", "About the competition", "Overview"),
    "goal": ("Goal", "Your task", "What to predict"),
    "host": ("The competition is hosted by {}.", "Your host is {}.", "The data come from {}."),
    "rows": (
        "Each row describes one {}; for the {} of the test set you submit {}.",
        "One row stands for one {}. For the {} of the test set, submit {}.",
        "Every row is one {}, and a submission gives, for the {} of the test set, {}.",
    ),
    "sample": (
        "a valid submission with a constant prediction",
        "a submission in the right form that predicts a constant",
        "how a submission looks, filled with one constant prediction",
    ),
    "board": (
        "About 30 % of the test rows make up the public leaderboard; the final standing rests on the others.",
        "The public leaderboard shows the score on about 30 % of the test rows; the others decide at the end.",
        "Roughly 30 % of the test rows count for the public leaderboard and all others for the final one.",
    ),
    "lines": (
        "One line for each row of `test.csv`, in any order, with a header:",
        "A header, then one line for each row of `test.csv` in any order:",
        "The file has a header and a line for every row of `test.csv`; their order does not matter:",
    ),
}
"""Three wordings of each fixed part of a brief; the task's id says which."""


class ProceduralWriter:
    """Renders ``description.md`` from its template; each attempt uses the next wordings."""

    async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
        """Write ``prepared/public/description.md``."""
        attempt = feedback.attempt if feedback else 0
        await asyncio.to_thread(_write, plan, workdir / "prepared" / "public", attempt)


def _write(plan: TaskPlan, public: Path, attempt: int) -> None:
    blueprint = Blueprint.of(plan)
    sample = (public / "sample_submission.csv").read_text(encoding="utf-8").splitlines()
    render_to(
        public / "description.md",
        "description.md.j2",
        plan=plan,
        wording=_wording(plan.task_id, attempt),
        domain=blueprint.world(),
        problem=blueprint.problem,
        table=blueprint.table,
        brief=get_kind(blueprint.kind).brief(blueprint),
        metric=get_metric(plan.metric),
        asked=_asked(plan, blueprint.problem),
        target_values=_target_values(plan, blueprint.problem),
        columns_note=_columns_note(plan),
        header=sample[0],
        example="\n".join(sample[1:3]),
    )


def _wording(task_id: str, attempt: int) -> dict[str, str]:
    """One wording of each part."""
    first = zlib.crc32(task_id.encode())
    return {name: texts[(first // 3**k + attempt) % 3] for k, (name, texts) in enumerate(WORDINGS.items())}


def _asked(plan: TaskPlan, problem: Problem) -> str:
    match plan.submission.kind:
        case "probability":
            return f"the probability that `{plan.target}` is `{problem.labels[1]}`"
        case "class_probabilities":
            return f"a probability for each value of `{plan.target}`"
        case "label_probabilities":
            return f"a probability for each label that `{plan.target}` may hold"
        case "ranked_labels":
            return f"the {plan.submission.top} likeliest values of `{plan.target}`, the likeliest first"
        case "relevance":
            return f"a number that orders the rows of one `{plan.submission.group_column}` by `{plan.target}`"
        case "mask":
            return f"the pixels of `{plan.target}`"
        case _:
            return f"the value of `{plan.target}`"


def _target_values(plan: TaskPlan, problem: Problem) -> str:
    names = ", ".join(f"`{label}`" for label in problem.labels)
    match problem.link:
        case "multilabel":
            return f": any of {names}, separated by spaces, or `none`"
        case "ordinal":
            return f", in ascending order: {names}"
        case "relevance":
            return ": 0, 1, 2 or 3"
        case "mask":
            return ": run lengths, or `none`"
        case _:
            unit = f" ({problem.unit})" if problem.unit else ""
            return f": {names}" if names else unit


def _columns_note(plan: TaskPlan) -> str:
    form = plan.submission
    names = ", ".join(f"`{name}`" for name in form.prediction_columns)
    labels = ", ".join(f"`{name}`" for name in form.classes)
    match form.kind:
        case "label":
            return f"{names} holds one of the labels {labels}."
        case "probability":
            return f"{names} holds the probability of `{form.classes[1]}`, between 0 and 1."
        case "class_probabilities":
            return f"The columns {names} hold one probability per class, between 0 and 1."
        case "label_probabilities":
            return f"The columns {names} hold the probability of each label, between 0 and 1; they need not sum to 1."
        case "label_set":
            return f"{names} holds the labels that apply, of {labels}, separated by spaces; `none` where none does."
        case "ranked_labels":
            return f"{names} holds up to {form.top} different labels of {labels}, with a space between, best first."
        case "relevance":
            return f"{names} holds any number; rows of one `{form.group_column}` are ordered by it, the largest first."
        case "number":
            return f"{names} holds a number."
        case "text":
            return f"{names} holds the text."
        case "mask":
            height, width = form.mask_shape or (0, 0)
            return (
                f"{names} holds run lengths: pairs `start length` of a first pixel and a number of pixels, such as"
                " `1 3 10 5`, in ascending order. Pixels are counted from 1, row by row, in pictures of"
                f" {height} by {width} pixels (height by width). An empty mask is `none`."
            )
