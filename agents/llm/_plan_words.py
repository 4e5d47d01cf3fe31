"""A plan in words for models: what a developer must build, what a writer may tell, what a reviewer must guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import HiddenRule
from sandmle.agents.roles import TaskPlan
from sandmle.canary import canary
from sandmle.errors import SandmleError
from sandmle.eval.metrics import get_metric

__all__ = ["LAWS", "told_to_all", "told_to_developer"]

LAWS: Mapping[str, str] = {
    "binary": "P(second label) = 1 / (1 + exp(-(signal / noise + c))); c is fixed on the population so that the mean"
    " probability there is the share",
    "multilabel": "the same as for two labels, for every label with a signal and a share of its own; cells hold the"
    " labels that apply with blanks between, or `none`",
    "multiclass": "softmax over k of (cos(2 pi k / K) * signal_1 + sin(2 pi k / K) * signal_2) / noise",
    "ordinal": "the level is the number of cuts below signal + noise * N(0, 1); cuts are the quantiles of that value in"
    " the population that give the shares",
    "relevance": "0 to 3: the number of cuts below signal + noise * N(0, 1); cuts are the quantiles of that value in"
    " the population that give the shares",
    "gaussian": "center + spread * (signal + noise * N(0, 1))",
    "lognormal": "center * exp(spread * (signal + noise * N(0, 1)))",
}
"""How a signal becomes a label; signals have zero mean and unit spread in the population."""


def told_to_all(plan: TaskPlan) -> dict[str, Any]:
    """What every role may know: the competition without its rule."""
    blueprint, metric = Blueprint.of(plan), get_metric(plan.metric)
    world, problem = blueprint.world(), blueprint.problem
    return {
        "title": plan.title,
        "question": problem.question,
        "host": world.host,
        "story": world.story,
        "collection": world.collection,
        "entity": world.entity,
        "entities": world.entities,
        "id_column": plan.submission.id_column,
        "target": plan.target,
        "target_description": problem.description,
        "labels": ", ".join(problem.labels) or "none",
        "unit": problem.unit or "none",
        "metric": metric.title,
        "metric_note": metric.note,
        "direction": "lower" if metric.lower_is_better else "higher",
        "submission": plan.submission.model_dump_json(exclude_none=True),
        "n_train": plan.n_train,
        "n_test": plan.n_test,
        "modality": plan.modality,
        "presentation": str(blueprint.content.get("presentation") or "the factors are the columns of the table"),
        "columns": tuple(f"{column.name} ({column.kind}): {column.description}" for column in blueprint.table.columns),
    }


def told_to_developer(plan: TaskPlan) -> dict[str, Any]:
    """All of a plan, with the rule as code.

    Raises:
        SandmleError: the rule is none that data can be checked against.
    """
    blueprint = Blueprint.of(plan)
    rule = blueprint.rule
    if not isinstance(rule, HiddenRule) or rule.link not in LAWS:
        raise SandmleError(f"a model develops no task whose labels follow the law {rule.link!r}: it can't be checked")
    return {
        **told_to_all(plan),
        "rungs": plan.rungs,
        "canary": canary(plan.task_id),
        "id_prefix": blueprint.table.id_prefix,
        "factors": tuple(
            {"name": column.name, "draw": column.source(), "missing": column.missing}
            for column in blueprint.table.columns
        ),
        "n_causes": len(blueprint.table.groups()),
        "mutations": tuple(line for mutation in blueprint.mutations for line in mutation.on_table()),
        "law": LAWS[rule.link],
        "noise": rule.noise,
        "shares": ", ".join(map(str, rule.shares)) or "none",
        "center": rule.center,
        "spread": rule.spread,
        "signals": tuple(
            tuple(
                {
                    "share": share,
                    "terms": tuple({"weight": each.weight, "source": each.term.source()} for each in part),
                }
                for part, share in ((signal.easy, signal.easy_share), (signal.hidden, round(1 - signal.easy_share, 4)))
            )
            for signal in rule.signals
        ),
    }
