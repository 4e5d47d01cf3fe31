"""Forecasts: the target continues the window on its own scale, and the season is the value to come of a pure wave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.files import hash_tree

Make = Any
BOTH = pytest.mark.parametrize("log", [False, True])


@BOTH
def test_season_of_a_wave_is_its_next_value(make: Make, log: bool) -> None:
    names = make("forecast", log=log).generator()
    steps, ahead = names["STEPS"], names["AHEAD"]
    time = np.arange(steps)
    lengths, firsts = (5.5, 7.0, 8.0, 10.0), (0.3, 1.0, 2.0, 4.0)
    waves = np.stack(
        [np.cos(2 * np.pi * (time - first) / length) for length, first in zip(lengths, firsts, strict=True)]
    )
    period, season = names["cycle_of"](waves)
    np.testing.assert_allclose(period, lengths, rtol=0.05)
    ends = np.cos(2 * np.pi * (steps - 1 + ahead - np.array(firsts)) / np.array(lengths))
    np.testing.assert_allclose(season, ends, atol=0.3)


@BOTH
def test_informed_baseline_reads_what_the_generator_read(make: Make, log: bool) -> None:
    made = make("forecast", log=log)
    seen = made.run("informed")["TEST_FACTORS"]
    drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300, "test")
    pd.testing.assert_frame_equal(seen, drawn, check_dtype=False, rtol=1e-9)


@BOTH
def test_target_is_a_plausible_continuation(make: Make, log: bool) -> None:
    made = make("forecast", log=log)
    channel = Blueprint.of(made.plan).content["channels"][0]
    table, long = made.table("train.csv"), made.table("train_series.csv")
    windows = long.groupby(made.plan.submission.id_column, sort=False)[channel["name"]].agg(
        ["mean", "std", "min", "max"]
    )
    target = table[made.plan.target].to_numpy()
    assert np.mean((target >= channel["low"]) & (target <= channel["high"])) > 0.97
    assert 0.5 < target.std() / long[channel["name"]].std() < 2
    assert np.corrcoef(target, windows["mean"])[0, 1] > 0.35
    near = np.abs(target - windows["mean"]) < 4 * windows["std"]
    assert near.mean() > 0.9


@BOTH
def test_every_rung_runs_and_the_informed_one_is_best(make: Make, log: bool) -> None:
    made = make("forecast", log=log)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert made.plan.rungs[:2] == ("dummy", "last_value")
    assert all(np.isfinite(list(scores.values())))
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert made.bayes() > scores["dummy"]


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("forecast", log=True)
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


def test_the_brief_tells_horizon_and_files(make: Make) -> None:
    made = make("forecast", log=False)
    content = Blueprint.of(made.plan).content
    brief = get_kind("forecast").brief(Blueprint.of(made.plan))
    assert f"at step {content['steps'] - 1 + content['ahead']}" in " ".join(brief.paragraphs)
    for file in brief.files:
        assert (made.public / file.name).is_file()
    for column in brief.columns:
        assert column.name in made.table(column.file or "test.csv")
