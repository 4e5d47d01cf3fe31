"""A group that rLLM's own trainer learnt from, recorded by golden/rllm_contract.py: our mapping still makes it."""

import json
from pathlib import Path

import numpy as np
import pytest

from sandmle.rl.algorithms import make_estimator
from sandmle.rl.rllm.records import TRAJECTORY, rllm_episode
from sandmle.rl.rows import sampled_rows
from sandmle.rl.types import Rollout
from sandmle.trajectory import Episode

GROUP = Path(__file__).parents[1] / "golden" / "rllm_group.json"
"""What golden/rllm_contract.py writes; named here too, since that module needs PyTorch and this test does not."""

RECORDED = [(Episode.model_validate(each["ours"]), each["theirs"]) for each in json.loads(GROUP.read_text())]


@pytest.mark.parametrize(("ours", "theirs"), RECORDED)
def test_their_record_is_ours_but_for_advantages_and_what_their_engine_names(ours, theirs):
    made = rllm_episode(ours)
    (trajectory,) = made["trajectories"]
    for step, held in zip(trajectory["steps"], theirs["trajectories"][0]["steps"], strict=True):
        step["advantage"] = held["advantage"]
    assert made["trajectories"] == theirs["trajectories"]
    assert made["info"] == theirs["info"]
    assert (made["termination_reason"], made["is_correct"]) == (theirs["termination_reason"], theirs["is_correct"])
    assert made["id"].split(":")[0] == theirs["id"].split(":")[0] == theirs["task"]
    assert made["metrics"].items() <= theirs["metrics"].items()


def test_its_advantages_are_those_of_our_grpo():
    rollouts = [Rollout.of_episode(ours, sampled_rows(ours).rows) for ours, _ in RECORDED]
    assert len({rollout.reward for rollout in rollouts}) > 1
    earned = [np.array(rollout.turn_rewards) for rollout in rollouts]
    for (_, theirs), of_turns in zip(RECORDED, make_estimator({"name": "grpo"}).advantages(earned), strict=True):
        assert [step["advantage"] for step in theirs["trajectories"][0]["steps"]] == pytest.approx(of_turns.tolist())


def test_the_tokens_that_the_gateway_recorded_make_one_row():
    for ours, theirs in RECORDED:
        (row,) = sampled_rows(ours).rows
        (trajectory,) = theirs["trajectories"]
        assert trajectory["name"] == TRAJECTORY
        last = trajectory["steps"][-1]
        assert row.token_ids.tolist() == last["prompt_ids"] + last["response_ids"]
        assert int(row.mask.sum()) == sum(len(step["response_ids"]) for step in trajectory["steps"])
