"""From the profile of a public folder and its description to what a script must know."""

from __future__ import annotations

import base64
import json
import lzma
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from sandmle.agents.chat.scripted._facts import classes_of, group_of, natural, top_of
from sandmle.eval.acceptance.search import search_script
from sandmle.eval.metrics import get_metric, metric_names
from sandmle.record import Record
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import PredictionKind

__all__ = ["PROFILE_MARK", "Plan", "make_plan", "profile_script", "read_profile", "script"]

PROFILE_MARK = "PROFILE "
"""Starts the line of output that holds the profile as JSON."""

_FEW_VALUES = 20
_PLAIN = ("label", "probability", "class_probabilities", "number")
_SEARCH = "search-"


class Plan(Record):
    """What a script must know about its task.

    Attributes:
        columns: the prediction columns of a submission.
        positive: the class whose probability is asked for, empty unless ``kind`` is ``probability``.
        metric: name of the metric, empty where the description names none that we know.
        beyond_table: whether there is more than a table, or more to predict than a template can.
        facts: what the search's script is told.
    """

    id_column: str
    target: str
    columns: tuple[str, ...]
    kind: PredictionKind
    positive: str = ""
    metric: str = ""
    beyond_table: bool = False
    facts: dict[str, Any] = Field(default_factory=dict)


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
    if (kind in COLUMN_PER_CLASS) != (len(columns) > 1):
        metric, kind = "", _guess_kind(profile, columns)
    positive = _positive(profile, description) if kind == "probability" else ""
    return Plan(
        id_column=id_column,
        target=profile["target"],
        columns=tuple(columns),
        kind=kind,
        positive=positive,
        metric=metric,
        beyond_table=bool(profile.get("beyond_table")) or kind not in _PLAIN,
        facts={
            "id_column": id_column,
            "target": profile["target"],
            "kind": kind,
            "metric": metric,
            "classes": classes_of(kind, profile, description, positive),
            "prediction_columns": columns,
            "group_column": group_of(profile, description) if kind == "relevance" else None,
            "top": top_of(profile, description, metric) if kind == "ranked_labels" else None,
            "mask_shape": profile.get("picture_size") if kind == "mask" else None,
        },
    )


def profile_script() -> str:
    """The script that lists the public folder and prints its profile."""
    return _templates().get_template("profile.py.j2").render()


def script(template: str, plan: Plan, seed: int) -> str:
    """The complete script of a template for a plan; ``search-<k>``, and what templates can't do, is the search's."""
    if template.startswith(_SEARCH) or plan.beyond_table:
        return _search(template, plan)
    told = plan.model_dump(exclude={"facts", "beyond_table"})
    return _templates().get_template(f"{template}.py.j2").render(**told, seed=seed)


def _search(template: str, plan: Plan) -> str:
    ideas = template.removeprefix(_SEARCH) if template.startswith(_SEARCH) else ""
    facts = json.dumps({**plan.facts, "style": "search" if ideas else template})
    return f"{_packed_search()}\nmain([{facts!r}, {ideas or '0'!r}])\n"


@cache
def _packed_search() -> str:
    """The search's script in a third of its length, so that a conversation can hold it beside all else."""
    packed = base64.b64encode(lzma.compress(search_script().encode())).decode()
    return f'import base64\nimport lzma\n\nexec(lzma.decompress(base64.b64decode("{packed}")))\n'


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
    words = profile.get("target_words", [])
    if len(columns) > 1:
        several = any(len(label.split()) > 1 for label in profile["target_values"])
        named = all(any(column.endswith(word) for word in words) for column in columns)
        return "label_probabilities" if several and named else "class_probabilities"
    if profile.get("target_runs") and profile.get("picture_size"):
        return "mask"
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
    return near[0] if len(near) == 1 else sorted(counts, key=natural)[-1]
