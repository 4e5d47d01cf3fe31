"""Rewards by hand for every preset and tier, and what holds for any weights."""

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.grades import GradeError, GradeReport
from sandmle.rl.rewards import REWARD_PRESETS, RewardWeights, get_preset, score_episode, too_many_timeouts
from sandmle.task import TIERS
from sandmle.trajectory import Action, StepResult, Turn

MEDALS = (None, None, "bronze", "silver", "gold")
INVALID = GradeReport(task_id="t", metric="rmse", lower_is_better=True, error=GradeError.MISSING)


def reaching(n_tiers):
    return GradeReport(
        task_id="t", metric="rmse", lower_is_better=True, score=1.0, reached=TIERS[:n_tiers], medal=MEDALS[n_tiers]
    )


@pytest.mark.parametrize(
    ("preset", "totals"),
    [
        ("paper", [0.4, 0.5, 0.7, 0.9, 1.0]),
        ("released", [0.3, 0.4, 0.8, 0.9, 1.0]),
        ("sparse", [0.1, 0.1, 0.1, 0.1, 1.0]),
    ],
)
def test_each_preset_and_tier_by_hand(preset, totals):
    weights = get_preset(preset)
    for n_tiers, total in enumerate(totals):
        reward = score_episode([True, True], reaching(n_tiers), weights)
        assert reward.preset == preset
        assert reward.total == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("preset", ["paper", "released", "sparse"])
@pytest.mark.parametrize("grade", [None, INVALID])
def test_no_valid_submission_earns_the_format_part_only(preset, grade):
    reward = score_episode([True, False, True, True], grade, get_preset(preset))
    assert reward.total == pytest.approx(0.075)
    assert reward.parts == {
        "format": pytest.approx(0.075),
        "exec": 0,
        "median": 0,
        "bronze": 0,
        "silver": 0,
        "gold": 0,
    }


def test_an_episode_without_turns_earns_no_format_part():
    assert score_episode([], None, get_preset("paper")).total == 0.0
    assert score_episode([], reaching(0), get_preset("paper")).total == pytest.approx(0.3)


def test_the_best_episode_earns_exactly_one():
    assert all(score_episode([True], reaching(4), weights).total == 1.0 for weights in REWARD_PRESETS.values())


def test_parts_are_kept_when_the_total_is_clamped():
    weights = RewardWeights(name="mine", exec=0.8, gold=sys.float_info.max, silver=sys.float_info.max)
    reward = score_episode([True], reaching(4), weights)
    assert (reward.preset, reward.total) == ("mine", 1.0)
    assert reward.parts["exec"] == 0.8
    assert reward.parts["gold"] == sys.float_info.max


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("field", ["format", "exec", *TIERS])
def test_weights_are_finite_and_not_negative(field, weight):
    with pytest.raises(ValidationError):
        RewardWeights(**{str(field): weight})


def test_weights_are_frozen_and_an_unknown_one_is_refused():
    with pytest.raises(ValidationError):
        get_preset("paper").gold = 1.0
    with pytest.raises(ValidationError):
        RewardWeights(platinum=1.0)


def test_an_unknown_preset_lists_those_there_are():
    with pytest.raises(BadInput, match="unknown reward preset 'dense'; choose from paper, released, sparse"):
        get_preset("dense")


WEIGHT = st.floats(0, 1) | st.floats(0, sys.float_info.max)


@settings(deadline=None)
@given(
    st.builds(RewardWeights, format=WEIGHT, exec=WEIGHT, median=WEIGHT, bronze=WEIGHT, silver=WEIGHT, gold=WEIGHT),
    st.lists(st.booleans(), max_size=20),
    st.integers(0, 4),
)
def test_any_weights(weights, turns, n_tiers):
    reward = score_episode(turns, reaching(n_tiers), weights)
    assert 0.0 <= reward.total <= 1.0
    assert reward.total == pytest.approx(min(1.0, sum(reward.parts.values())), abs=1e-12)
    assert score_episode([*turns, True], reaching(n_tiers), weights).total >= reward.total - 1e-12
    if n_tiers:
        assert score_episode(turns, reaching(n_tiers - 1), weights).total <= reward.total
    assert score_episode(turns, INVALID, weights).total <= reward.total


def calls(*kinds_and_statuses):
    """Turns by kind of action and status of the step; None for a reply that no parser accepted."""
    turns = []
    for index, (kind, status) in enumerate(kinds_and_statuses):
        action = None if kind is None else Action(kind=kind)
        step = None if status is None else StepResult(status=status, tier="A", head="timeout")
        turns.append(Turn(index=index, messages=(), reply="", action=action, format_ok=bool(action), step=step))
    return turns


TIMEOUT, OK, SCORE, ANSWER = ("python", "timeout"), ("python", "ok"), ("score", None), ("answer", None)


@pytest.mark.parametrize(
    ("turns", "masked"),
    [
        ([TIMEOUT], True),
        ([TIMEOUT, OK, OK, OK], True),
        ([TIMEOUT, OK, OK, OK, OK], False),
        ([TIMEOUT, OK, OK, OK, SCORE], False),
        ([TIMEOUT, OK, OK, OK, ANSWER], True),
        ([TIMEOUT, OK, OK, OK, (None, None)], True),
        ([TIMEOUT] * 3 + [OK] * 12, False),
        ([("python", "error"), ("python", "oom"), ("python", "killed")], False),
        ([("review", None), ANSWER, (None, None)], False),
        ([], False),
    ],
)
def test_only_released_masks_when_more_than_a_fifth_of_the_tool_calls_timed_out(turns, masked):
    assert bool(too_many_timeouts(calls(*turns), get_preset("released"))) == masked
    for name in set(REWARD_PRESETS) - {"released"}:
        assert too_many_timeouts(calls(*turns), get_preset(name)) == ""


def test_the_reason_tells_how_many_timed_out_and_how_many_may():
    reason = too_many_timeouts(calls(TIMEOUT, OK, SCORE), get_preset("released"))
    assert reason == "1 of 3 tool calls timed out, more than 20%"
