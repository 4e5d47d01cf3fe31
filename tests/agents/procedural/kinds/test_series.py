"""Series: what the generator reads of the published values is what the informed baseline reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.files import hash_tree

Make = Any
SIZE = 48


@pytest.fixture(scope="module")
def read(make: Make) -> dict[str, Any]:
    """The readings of a task with 48 steps."""
    return make("series", steps=SIZE).generator()  # type: ignore[no-any-return]


def test_period_and_phase_of_a_sine(read: dict[str, Any]) -> None:
    time = np.arange(SIZE)
    waves = np.stack([np.cos(2 * np.pi * (time - first) / length) for length, first in ((6, 5), (8, 3), (12, 0))])
    np.testing.assert_allclose(read["period"](waves), [6, 8, 12], rtol=0.03)
    expected = [((SIZE - 1 - first) / length) % 1 for length, first in ((6, 5), (8, 3), (12, 0))]
    apart = (read["cycle_end"](waves) - expected + 0.5) % 1 - 0.5
    assert np.abs(apart).max() < 0.06


@pytest.mark.parametrize("lag", [-5, -2, 0, 3, 6])
def test_delay_of_a_late_copy(read: dict[str, Any], lag: int) -> None:
    noise = np.random.default_rng(lag + 9).standard_normal((20, SIZE + 20))
    first, second = noise[:, 10 : 10 + SIZE], noise[:, 10 - lag : 10 - lag + SIZE]
    assert (read["delay"](first, second) == lag).all()
    assert (read["delay"](first, -second) == lag).all()


def test_change_point_of_a_step(read: dict[str, Any]) -> None:
    steps = np.array([[10.0] * at + [12.0] * (SIZE - at) for at in (9, 24, 40)])
    np.testing.assert_allclose(read["change_point"](steps), np.array([9, 24, 40]) / SIZE)


def test_counts_of_single_series(read: dict[str, Any]) -> None:
    noise = np.random.default_rng(4).standard_normal((30, SIZE))
    line = np.array([np.polyval(np.polyfit(np.arange(SIZE), row, 1), np.arange(SIZE)) for row in noise])
    rest = noise - line
    for row, run, peaks, rises in zip(
        rest, read["longest_run"](noise), read["peaks"](noise), read["rise_share"](noise), strict=True
    ):
        runs = "".join("x" if value > 0 else " " for value in row).split()
        assert run == max(map(len, runs))
        height = 0.33 * row.std()
        assert peaks == sum(
            row[k] > row[k - 1] and row[k] >= row[k + 1] and row[k] > height for k in range(1, SIZE - 1)
        )
        assert rises == pytest.approx(np.mean(np.diff(row) > 0))


def test_constant_series_have_finite_readings(read: dict[str, Any]) -> None:
    flat = np.full((3, SIZE, len(read["CHANNELS"])), 7.0)
    assert np.isfinite(read["factors_of"](flat).to_numpy()).all()


def test_informed_baseline_reads_what_the_generator_read(make: Make) -> None:
    for problem in get_kind("series").problems:
        made = make("series", problem)
        seen = made.run("informed")["TEST_FACTORS"]
        drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300, "test")
        pd.testing.assert_frame_equal(seen, drawn, check_dtype=False, rtol=1e-9)


def test_files_hold_every_step_of_every_row(make: Make) -> None:
    made = make("series", "binary")
    content, ids = Blueprint.of(made.plan).content, made.plan.submission.id_column
    for split in ("train", "test"):
        table, long = made.table(f"{split}.csv"), made.table(f"{split}_series.csv")
        assert list(long.columns) == [ids, "step", *(channel["name"] for channel in content["channels"])]
        assert list(long[ids].unique()) == list(table[ids])
        assert (long.groupby(ids)["step"].apply(list).map(len) == content["steps"]).all()
        for channel in content["channels"]:
            assert long[channel["name"]].between(channel["low"], channel["high"]).all()
            np.testing.assert_allclose(long[channel["name"]], long[channel["name"]].round(channel["decimals"]))


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("series", "binary")
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


def test_the_brief_names_what_there_is(make: Make) -> None:
    made = make("series", "regression")
    blueprint = Blueprint.of(made.plan)
    brief = get_kind("series").brief(blueprint)
    for file in brief.files:
        assert (made.public / file.name).is_file()
    for column in brief.columns:
        assert column.name in made.table(column.file or "test.csv")
    assert f"{blueprint.content['steps']} rows" in " ".join(brief.paragraphs)


@pytest.mark.parametrize(
    "problem",
    [p if p == "ordinal" else pytest.param(p, marks=pytest.mark.slow) for p in sorted(get_kind("series").problems)],
)
def test_every_rung_runs_and_the_informed_one_is_best(make: Make, problem: str) -> None:
    made = make("series", problem)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert all(np.isfinite(list(scores.values())))
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert made.bayes() > scores["dummy"]
