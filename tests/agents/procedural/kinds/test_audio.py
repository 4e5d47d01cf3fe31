"""Sound clips: what is rendered can be heard again, and the files are what the brief says."""

from __future__ import annotations

import wave
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.kinds.audio import SCENES
from sandmle.files import hash_tree

Make = Any


@pytest.mark.parametrize("scene", SCENES)
def test_informed_baseline_hears_every_factor(make: Make, scene: str) -> None:
    made = make("audio", scene=scene)
    heard = made.run("informed")["TEST_FACTORS"]
    drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300, "test")
    assert set(heard) == set(drawn)
    for name in drawn:
        if pd.api.types.is_numeric_dtype(drawn[name]):
            apart = (heard[name] - drawn[name]).to_numpy(float)
            assert np.corrcoef(heard[name].astype(float), drawn[name])[0, 1] > 0.995, name
            assert np.sqrt((apart**2).mean()) < 0.15 * drawn[name].std(), name
        else:
            assert (heard[name] == drawn[name]).mean() > 0.99


@pytest.mark.parametrize("scene", SCENES)
def test_clips_are_mono_16_bit_and_not_clipped(make: Make, scene: str) -> None:
    made = make("audio", scene=scene)
    content = Blueprint.of(made.plan).content
    for split in ("train", "test"):
        named = set(made.table(f"{split}.csv")[content["column"]])
        assert named == {f"{split}_audio/{path.name}" for path in (made.public / f"{split}_audio").iterdir()}
        for path in sorted(named)[:40]:
            with wave.open(str(made.public / path), "rb") as file:
                assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, content["rate"])
                samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(int)
            assert len(samples) == content["samples"]
            assert 300 < np.abs(samples).max() < 32767


def test_hidden_factors_leave_the_level_of_a_clip_alone(make: Make) -> None:
    """Loudness is set last, so that it can't tell how many pulses there are, or how long they ring."""
    made = make("audio", scene="pulses")
    heard = made.run("informed")["TEST_FACTORS"]
    for name in ("pulses", "ring", "unevenness", "tone"):
        assert abs(np.corrcoef(heard["loudness"], heard[name])[0, 1]) < 0.2


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("audio", scene="drone")
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


def test_the_brief_names_what_there_is(make: Make) -> None:
    made = make("audio", scene="pair")
    brief = get_kind("audio").brief(Blueprint.of(made.plan))
    assert all((made.public / file.name).is_dir() for file in brief.files)
    assert [column.name for column in brief.columns] == list(made.table("test.csv").columns[1:])
    text = " ".join((*brief.paragraphs, *(column.description for column in brief.columns)))
    assert "0.5 s" in text
    assert "4000 samples a second" in text
    for factor in ("loudness", "tremolo", "unevenness", "glide"):
        assert factor not in text


@pytest.mark.parametrize(
    "problem",
    [p if p == "regression" else pytest.param(p, marks=pytest.mark.slow) for p in sorted(get_kind("audio").problems)],
)
def test_every_rung_runs_and_the_informed_one_is_best(make: Make, problem: str) -> None:
    made = make("audio", problem)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert all(np.isfinite(list(scores.values())))
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert made.bayes() > scores["dummy"]
