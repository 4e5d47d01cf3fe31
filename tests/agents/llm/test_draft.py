"""A draft that is wrong is refused with the field and the reason, before anything is built on it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandmle.agents.llm._draft import TaskDraft
from sandmle.agents.llm._reading import Unusable, read_json
from sandmle.agents.llm._strategist import _columns, _fault
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.seeds import get_seed

FIXTURES = Path(__file__).parents[2] / "graphs" / "synthesis" / "llm" / "fixtures"
Change = Callable[[dict[str, Any]], Any]


def draft(name: str = "bee-yards", change: Change = lambda plain: None) -> str:
    plain = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    changed = copy.deepcopy(plain)
    change(changed)
    return json.dumps(changed)


def factor(index: int, **values: Any) -> Change:
    return lambda plain: plain["factors"][index].update(values)


def test_a_good_draft_is_a_blueprint_that_survives_json() -> None:
    made = read_json(draft(), TaskDraft).blueprint("tabular")
    assert Blueprint.model_validate_json(made.model_dump_json()) == made
    assert made.world().host.startswith("Hollow Elm")
    assert made.problem.submission("hive_id").kind == "probability"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda plain: plain["milestones"].update(gold=0.5), "milestones must rise strictly"),
        (lambda plain: plain["milestones"].update(silver=0.45), "milestones must rise strictly"),
        (lambda plain: plain.update(metric="rmse"), "metric: choose from roc_auc"),
        (lambda plain: plain.update(problem_type="ranking"), "problem_type: choose from binary"),
        (lambda plain: plain.update(shares=[]), "shares: binary needs 1, not 0"),
        (lambda plain: plain["target"].update(labels=["a"]), "target.labels: binary needs 2 to 2 labels"),
        (lambda plain: plain["target"].update(labels=["alive", "none"]), "would be read back from CSV"),
        (lambda plain: plain["target"].update(column="hive_weight"), "more than once: hive_weight"),
        (lambda plain: plain["signals"][0]["easy"][0].update(formula="z(honey)"), "there is no column 'honey'"),
        (lambda plain: plain["signals"][0].update(hidden=[]), "signals.0.hidden"),
        (lambda plain: plain.update(easy_share=0.99), "easy_share"),
        (factor(0, name='x"]; import os #'), "no column name in snake case"),
        (factor(0, high=1.0), "hive_weight ends at 1.0, before it begins"),
        (factor(0, shape="lognormal", low=0), "hive_weight is lognormal"),
        (factor(6, weights=[0.5, 0.5]), "weights of breed"),
        (factor(7, levels=["meadow", "or'chard", "heath"]), "has a comma, a quote"),
    ],
)
def test_what_is_wrong_with_a_draft_is_said(change: Change, problem: str) -> None:
    with pytest.raises(Unusable) as fault:
        read_json(draft(change=change), TaskDraft)
    assert problem in str(fault.value)


def test_the_seeds_own_domain_is_refused() -> None:
    seed = get_seed("iris")
    good = read_json(draft(), TaskDraft)
    assert _fault(good, seed, _columns(seed), "tabular") == ""
    renamed = read_json(draft(change=lambda plain: plain["setting"].update(slug="iris-beds")), TaskDraft)
    assert "the seed's own (iris)" in _fault(renamed, seed, _columns(seed), "tabular")
    own = tuple(column.name for column in good.factors)
    assert "are the seed's own columns" in _fault(good, seed, own, "tabular")


def test_items_that_are_no_rows_must_show_their_factors() -> None:
    text = read_json(draft("harbour-logs"), TaskDraft)
    seed = get_seed("iris")
    assert _fault(text, seed, (), "text") == ""
    assert "presentation" in _fault(text.model_copy(update={"presentation": ""}), seed, (), "text")
