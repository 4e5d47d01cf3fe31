"""Examples, padding and micro-batches."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.rl.algorithms import make_estimator
from sandmle.rl.batches import Totals, make_examples, micro_batches, pad
from sandmle.rl.types import CONTEXT, Example, Group, Rollout, Row
from sandmle.trajectory import EpisodeStatus


def make_row(turns, mask=None, version=0):
    turns = np.array(turns)
    return Row(
        token_ids=np.arange(len(turns)) + 10,
        turns=turns,
        mask=turns != CONTEXT if mask is None else np.array(mask),
        sampler_logprobs=np.full(len(turns), -0.5),
        weight_version=version,
    )


def make_example(length):
    return Example(make_row([CONTEXT, *[0] * (length - 1)]), np.full(length, 2.0))


def test_each_token_has_the_advantage_of_its_turn_and_context_has_none():
    group = Group(
        "t",
        (
            Rollout("a", "t", (0.0, 1.0), (make_row([-1, 0, 0, -1, 1], [False, True, False, False, True]),)),
            Rollout("b", "t", (0.5, 0.0), (make_row([-1, 0]), make_row([-1, -1, 1]))),
        ),
        asked=2,
    )
    examples = make_examples(group, make_estimator({"name": "step-wise", "std": "none"}))
    assert [example.advantages.tolist() for example in examples] == [[0, 0.25, 0, 0, 0.5], [0, -0.25], [0, 0, -0.5]]


def test_masked_rollouts_leave_the_baseline_and_the_loss():
    good, bad = Rollout("a", "t", (1.0,), (make_row([-1, 0]),)), Rollout("b", "t", (0.5,), (make_row([-1, 0]),))
    failed = Rollout("c", "t", None, (make_row([-1, 0]),), EpisodeStatus.INFRA_ERROR)
    estimator = make_estimator({"name": "grpo", "std": "none"})
    with_it = make_examples(Group("t", (good, failed, bad), 3), estimator)
    assert [example.advantages[1] for example in with_it] == [0.25, -0.25]


@pytest.mark.parametrize("reward", [None, (float("nan"),)])
def test_one_missing_or_broken_reward_spares_the_rest_of_the_group(reward):
    rollouts = tuple(Rollout(name, "t", (float(name),), (make_row([-1, 0]),)) for name in "01")
    broken = Rollout("x", "t", reward, (make_row([-1, 0]),))
    examples = make_examples(Group("t", (*rollouts, broken), 3), make_estimator({"name": "grpo"}))
    assert [example.advantages[1] for example in examples] == pytest.approx([-1, 1], abs=1e-5)


def test_padding_is_marked():
    batch = pad([make_example(2), make_example(4)], pad_id=3)
    assert batch.token_ids.tolist() == [[10, 11, 3, 3], [10, 11, 12, 13]]
    assert batch.present.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.mask.tolist() == [[False, True, False, False], [False, True, True, True]]
    assert batch.advantages[0].tolist() == [2, 2, 0, 0]
    assert batch.sampler_logprobs[0].tolist() == [0, -0.5, 0, 0]


def test_totals_count_rows_with_something_to_learn():
    idle = Example(make_row([CONTEXT, CONTEXT]), np.zeros(2))
    assert Totals.of([make_example(3), idle, make_example(5)]) == Totals(rows=2, tokens=6)
    with pytest.raises(ValueError, match="skip the update"):
        Totals.of([idle])


@settings(deadline=None, max_examples=50)
@given(lengths=st.lists(st.integers(2, 30), max_size=12), room=st.integers(30, 90))
def test_micro_batches_hold_every_row_once_and_keep_to_their_room(lengths, room):
    found = list(micro_batches([make_example(length) for length in lengths], max_tokens=room, pad_id=0))
    assert all(batch.token_ids.size <= room for batch in found)
    assert sorted(int(row.sum()) for batch in found for row in batch.present) == sorted(lengths)


def test_a_row_that_is_longer_than_a_micro_batch_has_one_of_its_own():
    found = list(micro_batches([make_example(9), make_example(3), make_example(12)], max_tokens=8, pad_id=0))
    assert [batch.token_ids.shape for batch in found] == [(1, 3), (1, 9), (1, 12)]


def test_old_log_probabilities_lie_under_their_tokens():
    old = np.array([0.0, -1.0, -2.0])
    batch = pad([make_example(4), replace(make_example(3), old_logprobs=old)], pad_id=0)
    assert batch.old_logprobs.tolist() == [[0, 0, 0, 0], [0, -1, -2, 0]]
    with pytest.raises(ValueError, match="3 old log-probabilities for 4 tokens"):
        replace(make_example(4), old_logprobs=old)
