"""From the profile of a public folder and its description to what a script must know."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sandmle.eval.metrics import get_metric, metric_names
from sandmle.record import Record
from sandmle.task import PredictionKind

__all__ = ["PROFILE_MARK", "Plan", "make_plan", "profile_script", "read_profile", "script"]

PROFILE_MARK = "PROFILE "
"""Starts the line of output that holds the profile as JSON."""

_FEW_VALUES = 20


class Plan(Record):
    """What a script must know about its task.

    Attributes:
        columns: the prediction columns of a submission.
        positive: the class whose probability is asked for, empty unless ``kind`` is ``probability``.
        metric: name of the metric, empty where the description names none that we know.
    """

    id_column: str
    target: str
    columns: tuple[str, ...]
    kind: PredictionKind
    positive: str = ""
    metric: str = ""


def read_profile(observation: str) -> dict[str, Any] | None:
    """The profile that the first script printed, None if the observation holds none."""
    for line in observation.splitlines():
        if line.startswith(PROFILE_MARK):
            try:
                return dict(json.loads(line.removeprefix(PROFILE_MARK)))
            except ValueError:
                return None
    return None


def make_plan(profile: dict[str, Any], description: str) -> Plan:
    """Read target, kind of prediction and metric from profile and description."""
    id_column, *columns = profile["sample_columns"]
    metric = _metric(description)
    kind = get_metric(metric).prediction if metric else _guess_kind(profile, columns)
    if (kind == "class_probabilities") != (len(columns) > 1):
        metric, kind = "", _guess_kind(profile, columns)
    return Plan(
        id_column=id_column,
        target=profile["target"],
        columns=tuple(columns),
        kind=kind,
        positive=_positive(profile, description) if kind == "probability" else "",
        metric=metric,
    )


def profile_script() -> str:
    """The script that lists the public folder and prints its profile."""
    return _templates().get_template("profile.py.j2").render()


def script(template: str, plan: Plan, seed: int) -> str:
    """The complete script of a template for a plan."""
    return _templates().get_template(f"{template}.py.j2").render(**plan.model_dump(), seed=seed)


@cache
def _templates() -> Environment:
    loader = PackageLoader("sandmle.agents.chat.scripted", "templates")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["python"] = repr
    return environment


def _metric(description: str) -> str:
    """The metric that the description names: by its name in code quotes, else by the longest title in the text."""
    quoted = [name for name in metric_names() if f"`{name}`" in description]
    if quoted:
        return quoted[0]
    text = _folded(description)
    titled = {_folded(get_metric(name).title): name for name in metric_names()}
    found = sorted((title for title in titled if title in text), key=len)
    return titled[found[-1]] if found else ""


def _folded(text: str) -> str:
    """Without case and hyphens: multi-class is multiclass."""
    return text.casefold().replace("-", "")


def _guess_kind(profile: dict[str, Any], columns: list[str]) -> PredictionKind:
    """The kind of prediction where the metric doesn't tell it, from the sample submission and the target's values."""
    if len(columns) > 1:
        return "class_probabilities"
    classes = profile["target_distinct"] <= _FEW_VALUES and (profile["target_integer"] or not profile["target_numeric"])
    if not classes:
        return "number"
    fractional = profile["sample_numeric"] and not profile["sample_integer"]
    other_type = profile["sample_numeric"] and not profile["target_numeric"]
    if profile["target_distinct"] == 2 and (fractional or other_type):
        return "probability"
    return "number" if fractional else "label"


def _positive(profile: dict[str, Any], description: str) -> str:
    """The class whose probability is asked for: named by the description, else matching the sample's constant."""
    counts: dict[str, int] = profile["target_values"]
    for phrase in re.findall(r"probabilit(?:y|ies) (?:of|that|for)[^.\n]{0,160}", description):
        named = [label for label in counts if re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", phrase)]
        if len(named) == 1:
            return named[0]
    share, total = profile["sample_constant"], sum(counts.values())
    near = [label for label, count in counts.items() if share is not None and abs(count / total - share) < 1e-3]
    return near[0] if len(near) == 1 else sorted(counts, key=_natural)[-1]


def _natural(label: str) -> tuple[bool, float, str]:
    """Numbers in their order, before words in theirs."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
