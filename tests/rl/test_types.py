"""Rows, rollouts and groups refuse what does not fit, and an episode's reward falls on its turns."""

import numpy as np
import pytest

from sandmle.rl.rewards import get_preset, score_episode
from sandmle.rl.types import CONTEXT, Example, Group, Rollout, Row
from sandmle.trajectory import Action, Episode, EpisodeStatus, Turn


def make_row(turns=(CONTEXT, 0, 0), mask=(False, True, True), logprobs=(np.nan, -1.0, -0.5), version=0):
    return Row(
        token_ids=np.arange(len(turns)),
        turns=np.array(turns),
        mask=np.array(mask),
        sampler_logprobs=np.array(logprobs),
        weight_version=version,
    )


def make_episode(formats, status=EpisodeStatus.ANSWERED):
    turns = tuple(
        Turn(index=i, messages=(), reply="", action=Action(kind="python") if ok else None, format_ok=ok)
        for i, ok in enumerate(formats)
    )
    masked = status is EpisodeStatus.INFRA_ERROR
    return Episode(
        id="e",
        task_id="t",
        task_hash="h",
        scaffold="react",
        policy="p",
        protocol="train",
        repeat=0,
        status=status,
        turns=turns,
        reward=None if masked else score_episode(formats, None, get_preset("paper")),
    )


def test_context_may_have_any_log_probability():
    assert len(make_row()) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask": (True, True)}, "arrays of one row have 2, 3 tokens"),
        ({"mask": (True, True, True)}, "loss mask holds context"),
        ({"turns": (0, 0, 0), "mask": (True, True, True)}, "first token"),
        ({"logprobs": (0, -1, np.nan)}, "no finite number"),
        ({"logprobs": (0, -1, -np.inf)}, "no finite number"),
    ],
)
def test_rows_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        make_row(**changes)


def test_a_rollout_refuses_tokens_of_turns_without_reward():
    with pytest.raises(ValueError, match="more turns than the 1"):
        Rollout("r", "t", (1.0,), rows=(make_row(turns=(CONTEXT, 0, 1)),))


@pytest.mark.parametrize("reward", [None, (np.nan,), (0.5, np.inf)])
def test_a_rollout_without_a_number_for_a_reward_does_not_count(reward):
    assert not Rollout("r", "t", reward).counted
    assert Rollout("r", "t", (0.0,)).counted


def test_the_format_part_goes_to_accepted_turns_and_all_else_to_the_last():
    episode = make_episode([True, False, True])
    episode = episode.model_copy(update={"reward": episode.reward.model_copy(update={"total": 0.4})})
    rollout = Rollout.of_episode(episode)
    assert rollout.turn_rewards == pytest.approx((0.1 / 3, 0, 0.4 - 0.1 / 3))
    assert rollout.reward == pytest.approx(0.4, abs=1e-15)


def test_what_an_episode_that_saw_answers_earned_is_not_known():
    leaked = make_episode([True]).model_copy(update={"leaked": True})
    assert Rollout.of_episode(leaked).reward is None
    assert not Rollout.of_episode(leaked).counted


def test_turn_rewards_add_up_where_no_reply_was_accepted_and_where_there_was_none():
    assert Rollout.of_episode(make_episode([False, False])).turn_rewards == (0, 0)
    assert Rollout.of_episode(make_episode([])).turn_rewards == ()
    assert Rollout.of_episode(make_episode([])).reward == 0


def test_a_masked_episode_is_a_masked_rollout_without_reward_never_one_of_0():
    rollout = Rollout.of_episode(make_episode([True], EpisodeStatus.INFRA_ERROR), [make_row()])
    assert rollout.reward is None
    assert rollout.mask_reason is EpisodeStatus.INFRA_ERROR
    assert not rollout.counted


def test_a_turn_that_hit_its_limit_is_the_agents_own_and_counts():
    assert Rollout.of_episode(make_episode([True], EpisodeStatus.WALL_BUDGET)).counted


@pytest.mark.parametrize(
    ("rollouts", "asked", "words"),
    [
        ([("a", "t"), ("b", "u")], 2, "holds rollouts of u"),
        ([("a", "t"), ("a", "t")], 2, "a rollout twice"),
        ([("a", "t"), ("b", "t")], 1, "2 rollouts of 1"),
    ],
)
def test_groups_that_are_mixtures_are_refused(rollouts, asked, words):
    with pytest.raises(ValueError, match=words):
        Group("t", tuple(Rollout(name, task, (0.0,)) for name, task in rollouts), asked)


def test_an_example_refuses_advantages_that_can_not_be_learnt_from():
    with pytest.raises(ValueError, match="2 advantages for 3 tokens"):
        Example(make_row(), np.zeros(2))
    with pytest.raises(ValueError, match="no finite number"):
        Example(make_row(), np.array([0, np.nan, 0]))
