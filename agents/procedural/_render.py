"""Rendering the procedural team's files from their templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.mutations import published
from sandmle.agents.procedural.problems import QUANTILES
from sandmle.agents.roles import TaskPlan
from sandmle.canary import canary

__all__ = ["facts", "render_to"]

POINTS = 64


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sandmle.agents.procedural"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["py"] = repr
    return environment


def _render(templates: tuple[str, ...], **inputs: Any) -> str:  # noqa: ANN401 - whatever the template asks for
    """The text of the first template that exists; an input that it needs and lacks is an error."""
    text = _environment().select_template(templates).render(**inputs)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for index, line in enumerate(lines) if line or index == 0 or lines[index - 1] or lines[index - 2]]
    return "\n".join(kept).rstrip() + "\n"


def render_to(path: Path, *templates: str, **inputs: Any) -> None:  # noqa: ANN401 - whatever the template asks for
    """Render the first template that exists into a file; a killed run writes it anew: no temporary name is needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may be a link to another's file
    path.write_text(_render(templates, **inputs), encoding="utf-8", newline="")


def facts(plan: TaskPlan) -> dict[str, Any]:
    """What every template may ask for."""
    blueprint = Blueprint.of(plan)
    table, problem = blueprint.table, blueprint.problem
    public = published(table, blueprint.mutations)
    quantile = QUANTILES.get(plan.metric)
    return {
        "task_id": plan.task_id,
        "canary": canary(plan.task_id),
        "id_column": table.id_column,
        "id_prefix": table.id_prefix,
        "target": plan.target,
        "classes": list(problem.labels),
        "kind": plan.submission.kind,
        "kind_name": blueprint.kind,
        "metric": plan.metric,
        "link": problem.link,
        "classify": problem.link in ("binary", "multiclass", "multilabel"),
        "quantile": quantile,
        "normal_quantile": round(NormalDist().inv_cdf(quantile), 6) if quantile else 0.0,
        "group_column": plan.submission.group_column,
        "group_prefix": problem.group[1] if problem.group else "",
        "top": plan.submission.top,
        "mask_shape": plan.submission.mask_shape,
        "rule": blueprint.rule,
        "noise": blueprint.rule.noise,
        "content": blueprint.content,
        "columns": table.columns,
        "n_causes": len(table.groups()),
        "missing": {column.name: column.missing for column in table.columns if column.missing},
        "numeric": [column.name for column in public.numeric()],
        "categorical": [column.name for column in public.categorical()],
        "ordinal": {column.name: list(column.levels) for column in public.ordinal()},
        "dates": [column.name for column in public.dates()],
        "mutations": blueprint.mutations,
        "repairs": [line for mutation in blueprint.mutations for line in mutation.undo()],
        "label_noise": max((mutation.label_noise() for mutation in blueprint.mutations), default=0.0),
        "normal_quantiles": [round(NormalDist().inv_cdf((k + 0.5) / POINTS), 6) for k in range(POINTS)],
    }
