"""A table with pictures: the rule reads both, and both are published."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.files import hash_tree
from sandmle.seeds import get_seed

Make = Any
PROBLEMS = sorted(get_kind("table_image").problems)


def blueprints(count: int) -> list[Blueprint]:
    """The first candidates of this kind."""
    strategist, found, candidate = ProceduralStrategist(3, "tests", 100, 300), [], 0
    while len(found) < count:
        blueprint = Blueprint.of(asyncio.run(strategist.plan(get_seed("wine"), candidate, "multimodal")))
        candidate += 1
        if blueprint.kind == "table_image":
            found.append(blueprint)
    return found


def test_every_signal_has_easy_and_hidden_terms_of_both_sides() -> None:
    for blueprint in blueprints(20):
        table = set(blueprint.content["columns"])
        assert 4 <= len(table) <= 9
        for signal in blueprint.rule.signals:
            for part in (signal.easy, signal.hidden):
                sides = {set(weighted.term.columns()) <= table for weighted in part}
                assert sides == {True, False}
                assert all(len({c in table for c in weighted.term.columns()}) == 1 for weighted in part)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_informed_baseline_reads_table_and_pictures(make: Make, problem: str) -> None:
    made = make("table_image", problem)
    content = Blueprint.of(made.plan).content
    found = made.run("informed")["TEST_FACTORS"]
    drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300, "test")
    test = made.table("test.csv")
    for name in drawn:
        known = test[name].notna().to_numpy() if name in content["columns"] else np.ones(300, dtype=bool)
        if pd.api.types.is_numeric_dtype(drawn[name]):
            assert np.corrcoef(found[name][known].astype(float), drawn[name][known])[0, 1] > 0.97, name
        else:
            assert (found[name][known] == drawn[name][known]).mean() > 0.97, name
    assert not found.isna().any().any()


def test_the_brief_names_what_there_is(make: Make) -> None:
    made = make("table_image", "binary")
    brief = get_kind("table_image").brief(Blueprint.of(made.plan))
    assert all((made.public / file.name).is_dir() for file in brief.files)
    assert [column.name for column in brief.columns] == list(made.table("test.csv").columns[1:])
    picture = Blueprint.of(made.plan).content["picture"]
    for split in ("train", "test"):
        assert all((made.public / path).is_file() for path in made.table(f"{split}.csv")[picture["column"]])


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("table_image", "binary")
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


@pytest.mark.parametrize("problem", [p if p == "binary" else pytest.param(p, marks=pytest.mark.slow) for p in PROBLEMS])
def test_every_rung_runs_and_the_informed_one_is_best(make: Make, problem: str) -> None:
    made = make("table_image", problem)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert all(np.isfinite(list(scores.values())))
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert made.bayes() > scores["dummy"]
