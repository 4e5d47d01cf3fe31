"""The table of an experiment: means, paired gains, and that everything is printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sandmle.rl.experiments._costs import Cost
from sandmle.rl.experiments._curves import COLOURS, draw_curves
from sandmle.rl.experiments._measure import Measured
from sandmle.rl.experiments._report import ExperimentReport, arm_rows


def episode(task, reward, repeat=0):
    gold = reward is not None and reward >= 1
    return Measured(
        task_id=task, repeat=repeat, reward=reward, format=1.0, valid=True, gold=gold, tokens=9, sandbox_s=0.1
    )


def arm(rewards):
    """Results of an arm from ``{task: [rewards]}``, all of them in the set ``same``."""
    found = [episode(task, reward, place) for task, values in rewards.items() for place, reward in enumerate(values)]
    return {"same": {"sampled": found}}


def report(rows):
    return ExperimentReport(
        baseline="sft",
        seeds=(0,),
        samples=8,
        tasks={"train": 4, "same": 2},
        excluded=1,
        rows=rows,
        cpu_s=9.0,
        wall_s=5.0,
    )


def cell(results, name, of_set="all"):
    rows = {row.name: row for row in arm_rows(results, {}, {}, "sft")}
    return rows[name].cells[of_set]["sampled"]


def test_the_gain_is_the_mean_over_tasks_of_the_difference():
    results = {"sft": arm({"a": [0.2, 0.4], "b": [0.1]}), "grpo": arm({"a": [0.5], "b": [0.2, 0.4]})}
    assert cell(results, "grpo").gain.mean == pytest.approx((0.2 + 0.2) / 2)
    assert cell(results, "sft").gain is None


def test_masked_episodes_are_counted_and_left_out():
    found = cell({"sft": arm({"a": [0.4, None], "b": [0.2]})}, "sft")
    assert (found.masked, found.episodes, found.reward.mean) == (1, 3, pytest.approx(0.3))


def test_an_arm_whose_episodes_were_all_masked_shows_no_number_and_the_share_of_masked_ones():
    results = {"sft": arm({"a": [0.0, 0.0], "b": [0.0, None]}), "broken": arm({"a": [None, None], "b": [None]})}
    table = report(arm_rows(results, {}, {}, "sft")).to_markdown()
    assert "| arm | same | gain | all | gain | gold | valid | masked |" in table
    assert "| broken | - | - | - | - | - | - | 100.0% |" in table
    assert "| sft | 0.000 [0.000, 0.000] | - | 0.000 [0.000, 0.000] | - | 0% | 100% | 25.0% |" in table


def test_an_arm_that_used_less_than_it_should_is_flagged_beside_its_costs():
    results = {"sft": arm({"a": [0.5]}), "slow": arm({"a": [0.1]})}
    costs = {"slow": Cost(updates=40, rollouts=64, tokens=9000, sandbox_runs=70, sandbox_s=12)}
    table = report(arm_rows(results, {}, costs, "sft", {"slow": (0, 2)})).to_markdown()
    assert "| slow (costs not matched: seed 0, 2) | 40 |" in table
    assert "costs not matched: made as many updates as `match.at_most` allows" in table
    assert "not matched" not in report(arm_rows(results, {}, costs, "sft")).to_markdown()


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=6), st.floats(-0.3, 0.3))
def test_a_gain_that_is_the_same_on_every_task_has_no_spread(rewards, gain):
    sft = {str(task): values for task, values in enumerate(rewards)}
    better = {task: [value + gain for value in values] for task, values in sft.items()}
    found = cell({"sft": arm(sft), "other": arm(better)}, "other").gain
    assert [found.low, found.mean, found.high] == pytest.approx([gain] * 3)


def test_tasks_are_drawn_not_episodes():
    """Many episodes of two tasks that differ leave the interval as wide as two tasks make it."""
    rng = np.random.default_rng(0)
    sft = {task: [0.5] * 200 for task in "ab"}
    other = {"a": list(0.9 + 0.01 * rng.random(200)), "b": list(0.1 + 0.01 * rng.random(200))}
    found = cell({"sft": arm(sft), "other": arm(other)}, "other").gain
    assert found.low < -0.3
    assert found.high > 0.3


def test_every_arm_is_printed_whatever_it_shows():
    results = {"sft": arm({"a": [0.5], "b": [0.5]}), "worse": arm({"a": [0.1], "b": [0.3]})}
    rows = arm_rows(
        results,
        {"worse": "chosen"},
        {"worse": Cost(updates=1, rollouts=64, tokens=9000, sandbox_runs=70, sandbox_s=12)},
        "sft",
    )
    table = report(rows).to_markdown()
    assert "| worse (chosen) | 0.200 [0.100, 0.300] | -0.300 [-0.400, -0.200] |" in table
    assert "| worse | 1 | 64 | 9,000 | 70 | 12 |" in table


def test_seeds_of_an_arm_look_alike_among_other_arms(tmp_path):
    def colours(*names):
        draw_curves({name: [0.2 + 0.1 * place] * 2 for place, name in enumerate(names)}, tmp_path / "curves.png")
        with Image.open(tmp_path / "curves.png") as picture:
            found = {colour for _, colour in picture.getcolors(picture.width * picture.height)}
        return [f"#{r:02x}{g:02x}{b:02x}" in COLOURS for r, g, b in found].count(True)

    assert colours("grpo, seed 0", "grpo, seed 1") == 2
    assert colours("grpo, seed 0", "grpo, seed 1", "other, seed 0", "other, seed 1") == 2


def test_curves_are_a_picture(tmp_path):
    draw_curves({"grpo": [0.1, float("nan"), 0.5], "control": [0.1], "none": []}, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
