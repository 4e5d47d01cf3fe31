"""Our episodes as rLLM's records; ``golden/rllm_episode.json`` is one that rLLM's own classes read."""

import json

import pytest
from rllm_example import GOLDEN, played, turn

from sandmle.errors import BadInput
from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.recipe import Recipe
from sandmle.rl.rllm.records import TERMINATION_REASONS, rllm_episode
from sandmle.trajectory import MASKED_STATUSES, EpisodeStatus


def test_an_episode_is_the_recorded_one():
    assert rllm_episode(played()) == json.loads(GOLDEN.read_text())


def test_tokens_are_those_sent_and_sampled_and_turn_rewards_add_up():
    (trajectory,) = rllm_episode(played())["trajectories"]
    assert [step["prompt_ids"] for step in trajectory["steps"]] == [[1, 2], [1, 2, 3, 4, 5], [1, 9]]
    assert [step["done"] for step in trajectory["steps"]] == [False, False, True]
    assert [len(step["chat_completions"]) for step in trajectory["steps"]] == [2, 4, 2]
    assert sum(step["reward"] for step in trajectory["steps"]) == pytest.approx(trajectory["reward"])
    assert trajectory["reward"] == pytest.approx(0.1 * 2 / 3)


def test_compact_filtering_masks_exactly_what_the_runner_masks():
    (stage,) = compose(Recipe.load("qwen3-8b"))
    assert stage.effective["rllm.compact_filtering.enable"] is True
    for status in EpisodeStatus:
        masks = stage.effective[f"rllm.compact_filtering.mask_{TERMINATION_REASONS[status]}"]
        assert masks == (status in MASKED_STATUSES), status
        assert rllm_episode(played(status))["termination_reason"] == TERMINATION_REASONS[status]


def test_an_episode_that_saw_answers_is_masked_and_ends_nothing():
    record = rllm_episode(played(leaked=True))
    assert (record["termination_reason"], record["trajectories"][0]["reward"]) == ("error", 0.0)


def test_episodes_of_a_task_are_one_group_whatever_their_scaffold():
    one, other = (rllm_episode(played(scaffold=name)) for name in ("react", "aide"))
    assert {record["id"].split(":")[0] for record in (one, other)} == {"rocks-1a2b"}
    assert one["trajectories"][0]["name"] == other["trajectories"][0]["name"]


def test_an_id_has_one_colon_and_before_it_stands_the_task():
    assert rllm_episode(played(task_id="a:b"))["id"] == f"a%3Ab:{'e' * 16}"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"turns": (turn(0, (1,), (2,), tokens=None),)}, "turn 0: no token ids"),
        ({"reward": None}, "no reward"),
    ],
)
def test_what_would_mislead_rllm_is_refused(fields, words):
    with pytest.raises(BadInput, match=words):
        rllm_episode(played(**fields))
