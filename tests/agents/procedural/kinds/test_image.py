"""Pictures: what is drawn can be measured, averages hide what is hidden, and the files are what the brief says."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.kinds._pictures import LOOKS
from sandmle.files import hash_tree

Make = Any
PROBLEMS = sorted(get_kind("image").problems)


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: "-".join("ny"[flag] for flag in look))
def shown(make: Make, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A task of each look: whether there are rings, an odd mark and stripes."""
    made, kind = make("image", "regression"), get_kind("image")
    blueprint = Blueprint.of(made.plan)
    for candidate in itertools.count():
        rng = np.random.default_rng(candidate)
        factors = kind.draw_factors(rng, blueprint.lexicon(), blueprint.problem, made.plan.dna)
        picture = factors.content.picture
        if (picture.rings, picture.odd, picture.texture == "stripes") == request.param:
            break
    rule = kind.draw_rule(rng, factors, blueprint.problem, made.plan.dna)
    content = factors.content.model_dump(mode="json")
    blueprint = blueprint.model_copy(update={"table": factors.table, "rule": rule, "content": content})
    plan = made.plan.model_copy(update={"details": blueprint.model_dump(mode="json")})
    root = tmp_path_factory.mktemp("shown")
    found = dataclasses.replace(made, plan=asyncio.run(ProceduralDeveloper().develop(plan, root, None)), root=root)
    found.generate()
    return found


def test_informed_baseline_measures_every_factor(shown: Any) -> None:
    measured = shown.run("informed")["TEST_FACTORS"]
    drawn, _ = shown.generator()["draw_items"](np.random.default_rng([shown.plan.test_seed, 0]), 300, "test")
    assert set(drawn) <= set(measured)
    for name in drawn:
        if pd.api.types.is_numeric_dtype(drawn[name]):
            assert np.corrcoef(measured[name].astype(float), drawn[name])[0, 1] > 0.97, name
            assert abs((measured[name] - drawn[name]).mean()) < 0.2 * drawn[name].std(), name
        else:
            assert (measured[name] == drawn[name]).mean() > 0.97, name


def test_marks_stay_apart_and_inside(shown: Any) -> None:
    generator = shown.generator()
    df, marks = generator["draw_items"](np.random.default_rng(3), 3000, "train")
    x, y, taken = marks["x"], marks["y"], marks["taken"]
    if not Blueprint.of(shown.plan).content["picture"]["odd"]:
        taken = taken & (np.arange(x.shape[1]) > 0)
    reach = np.maximum(np.abs(x), np.abs(y)) + marks["outer"][:, None]
    assert (reach[taken] <= generator["SIZE"] / 2 - 0.5).all()
    apart = np.hypot(x[:, :, None] - x[:, None, :], y[:, :, None] - y[:, None, :])
    both = taken[:, :, None] & taken[:, None, :] & ~np.eye(x.shape[1], dtype=bool)
    gap = apart - 2 * marks["outer"][:, None, None]
    assert gap[both].min() > 2.5
    assert (df["mark_count"] == taken.sum(axis=1) - (taken[:, 0])).all()


def test_hidden_factors_move_no_average(shown: Any) -> None:
    generator = shown.generator()
    df, marks = generator["draw_items"](np.random.default_rng(4), 600, "train")
    pixels = generator["render"](np.random.default_rng(5), df, marks).astype(float)
    mean, spread = pixels.reshape(600, -1).mean(axis=1), pixels.reshape(600, -1).std(axis=1)
    hidden = [name for name in df if name.startswith(("mark_", "ring_", "odd_", "stripe_")) and name != "odd_side"]
    for name in hidden:
        assert abs(np.corrcoef(df[name], mean)[0, 1]) < 0.15, name
        assert abs(np.corrcoef(df[name], spread)[0, 1]) < 0.4, name


def test_pictures_are_what_the_brief_says(make: Make) -> None:
    made = make("image", "binary")
    picture = Blueprint.of(made.plan).content["picture"]
    brief = get_kind("image").brief(Blueprint.of(made.plan))
    assert all((made.public / file.name).is_dir() for file in brief.files)
    assert [column.name for column in brief.columns] == list(made.table("test.csv").columns[1:])
    for split in ("train", "test"):
        named = set(made.table(f"{split}.csv")[picture["column"]])
        assert named == {f"{split}_images/{path.name}" for path in (made.public / f"{split}_images").iterdir()}
        for path in sorted(named)[:20]:
            with Image.open(made.public / path) as image:
                assert (image.format, image.mode) == ("PNG", "RGB" if picture["colour"] else "L")
                assert image.size == (picture["size"], picture["size"])
                assert not image.info
    text = " ".join((*brief.paragraphs, *(column.description for column in brief.columns)))
    assert f"{picture['size']} pixels wide" in text
    for factor in ("stretch", "spread", "ring", "stripe", "vignette", "grit"):
        assert factor not in text


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("image", "binary")
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


@pytest.mark.parametrize(
    "problem", [p if p == "multilabel" else pytest.param(p, marks=pytest.mark.slow) for p in PROBLEMS]
)
def test_every_rung_runs_and_the_informed_one_is_best(make: Make, problem: str) -> None:
    made = make("image", problem)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert all(np.isfinite(list(scores.values())))
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert made.bayes() > scores["dummy"]
