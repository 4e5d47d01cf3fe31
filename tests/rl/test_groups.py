"""Which rollouts make a group, which groups are learnt from, and what is counted; stragglers are cut."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sandmle.rl.algorithms import make_estimator
from sandmle.rl.groups import GroupSettings, GroupTally, gather_groups, judge_group, permuted, run_group
from sandmle.rl.types import CONTEXT, Group, Rollout, Row
from sandmle.trajectory import EpisodeStatus

GRPO = make_estimator({"name": "grpo"})


def make_row(version=0):
    return Row(
        token_ids=np.arange(2),
        turns=np.array([CONTEXT, 0]),
        mask=np.array([False, True]),
        sampler_logprobs=np.array([0.0, -1.0]),
        weight_version=version,
    )


def make_rollout(name, reward, *, versions=(0,), mask_reason=None, task="t"):
    rewards = None if reward is None else (reward,)
    return Rollout(name, task, rewards, tuple(map(make_row, versions)), mask_reason)


def make_group(*rewards, versions=(0,), asked=None):
    rollouts = tuple(make_rollout(str(i), reward, versions=versions) for i, reward in enumerate(rewards))
    return Group("t", rollouts, len(rollouts) if asked is None else asked)


def judge(group, estimator=GRPO, version=0, **settings):
    return judge_group(group, estimator, GroupSettings(**settings), version)


def test_ids_with_colons_stay_apart():
    found = gather_groups([make_rollout(str(i), 0.0, task=task) for i, task in enumerate(["a:1", "a:2", "a", "a:1"])])
    assert [(group.task_id, len(group.rollouts)) for group in found] == [("a:1", 2), ("a:2", 1), ("a", 1)]


def test_a_group_with_spread_is_kept():
    verdict = judge(make_group(0.0, 0.5, 1.0))
    assert len(verdict.group.rollouts) == 3
    assert verdict.tally == GroupTally(groups=1, kept=1, asked=3, counted=3, reward=1.5, tokens=3)


def test_tokens_of_broken_off_tries_are_counted_as_sampled():
    tally = judge(Group("t", (replace(make_rollout("a", 0.0), discarded=40), make_rollout("b", 1.0)), 2)).tally
    assert tally.tokens == 42


def test_prefix_breaks_are_counted_whatever_becomes_of_a_rollout():
    rollouts = (replace(make_rollout("a", 0.0), breaks=2), replace(make_rollout("b", None), breaks=1))
    tallies = [judge(Group("t", rollouts, 2)).tally, judge(make_group(0.0, 1.0)).tally]
    assert [tally.breaks for tally in tallies] == [3, 0]
    assert (tallies[0] + tallies[1]).breaks == 3


@pytest.mark.parametrize("flat", ["drop", "keep"])
def test_groups_without_variance_are_dropped_and_counted_or_kept(flat):
    verdict = judge(make_group(0.3, 0.3, 0.3), flat=flat)
    assert (verdict.group is not None) == (flat == "keep")
    assert (verdict.tally.equal, verdict.tally.kept) == (1, int(flat == "keep"))


@pytest.mark.parametrize("flat", ["drop", "keep"])
def test_groups_of_one_are_dropped_and_counted_or_kept(flat):
    verdict = judge(make_group(0.3), flat=flat)
    assert (verdict.group is not None) == (flat == "keep")
    assert (verdict.tally.single, verdict.tally.equal) == (1, 0)


def test_rounding_is_no_variance():
    assert judge(make_group(0.1 + 0.2, 0.3)).tally.equal == 1


def test_turns_can_differ_where_rewards_do_not():
    group = Group("t", (Rollout("a", "t", (1.0, 0.0)), Rollout("b", "t", (0.0, 1.0))), 2)
    assert judge(group).group is None
    assert judge(group, make_estimator({"name": "step-wise"})).group is not None


def test_masked_rollouts_leave_the_baseline_and_are_counted_by_reason():
    masked = [make_rollout(f"m{i}", 0.0, mask_reason=EpisodeStatus.INFRA_ERROR) for i in range(2)]
    slow = make_rollout("s", None, mask_reason=EpisodeStatus.MODEL_TIMEOUT)
    verdict = judge(Group("t", (make_rollout("a", 0.5), *masked, make_rollout("b", 0.7), slow), 5))
    assert [rollout.id for rollout in verdict.group.counted] == ["a", "b"]
    assert verdict.tally.masked == {"infra_error": 2, "model_timeout": 1}
    assert verdict.tally.mean_reward == pytest.approx(0.6)


def test_a_crash_does_not_make_variance():
    crashed = make_rollout("c", 0.0, mask_reason=EpisodeStatus.INFRA_ERROR)
    assert judge(Group("t", (make_rollout("a", 0.5), make_rollout("b", 0.5), crashed), 3)).group is None


def test_a_missing_or_broken_reward_is_counted_and_spares_the_group():
    verdict = judge(make_group(0.0, None, float("nan"), 1.0))
    assert verdict.tally.unscored == 2
    assert len(verdict.group.counted) == 2


def test_a_group_where_nothing_counts_is_dropped_whatever_the_setting():
    assert judge(make_group(None, None), flat="keep").group is None
    assert judge(Group("t", (), asked=4), flat="keep").tally == GroupTally(groups=1, single=1, asked=4, cut=4)


def test_stale_rows_are_dropped_and_counted():
    mixed = make_rollout("m", 0.0, versions=(2, 4))
    old, new = make_rollout("o", 0.5, versions=(2, 2)), make_rollout("n", 1.0, versions=(4,))
    verdict = judge(Group("t", (mixed, old, new), 3), version=5, max_staleness=1)
    assert [(rollout.id, len(rollout.rows)) for rollout in verdict.group.rollouts] == [("m", 1), ("n", 1)]
    assert (verdict.tally.stale_rows, verdict.tally.stale) == (3, 1)


def test_what_is_exactly_as_old_as_allowed_is_kept():
    assert judge(make_group(0.0, 1.0, versions=(3,)), version=5, max_staleness=2).tally.stale_rows == 0
    assert judge(make_group(0.0, 1.0, versions=(3,)), version=5, max_staleness=1).group is None


def test_a_rollout_that_never_had_a_row_is_not_stale():
    group = Group("t", (Rollout("empty", "t", ()), make_rollout("a", 1.0, versions=(5,))), 2)
    assert len(judge(group, version=5).group.counted) == 2


@settings(deadline=None, max_examples=40)
@given(groups=st.lists(st.lists(st.floats(0, 1), max_size=6), max_size=6))
def test_mean_rewards_are_over_rollouts_not_over_groups_of_unequal_size(groups):
    tally = sum((judge(make_group(*rewards)).tally for rewards in groups), start=GroupTally())
    everyone = [reward for rewards in groups for reward in rewards]
    assert tally.groups == len(groups)
    assert tally.counted == len(everyone)
    if everyone:
        assert tally.mean_reward == pytest.approx(np.mean(everyone))
    else:
        assert tally.mean_reward is None


def test_settings_that_can_not_work_are_refused():
    for changes in ({"max_staleness": -1}, {"refills": -1}, {"flat": "maybe"}):
        with pytest.raises(ValidationError):
            GroupSettings(**changes)


class Rollouts:
    """Rollouts that end when they are told, and know whether they were cancelled."""

    def __init__(self, number):
        self.ends = [asyncio.get_running_loop().create_future() for _ in range(number)]
        self.cancelled = []

    def end(self, index, reward=1.0, **changes):
        self.ends[index].set_result(make_rollout(str(index), reward, **changes))

    async def roll(self, index):
        try:
            return await self.ends[index]
        except asyncio.CancelledError:
            self.cancelled.append(index)
            raise

    def group(self, deadline_s, give_up_s=None):
        rolls = [self.roll(index) for index in range(len(self.ends))]
        return asyncio.create_task(run_group("t", rolls, deadline_s=deadline_s, give_up_s=give_up_s))


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def test_without_a_deadline_all_are_waited_for():
    rollouts = Rollouts(3)
    group = rollouts.group(None)
    for index in (2, 0):
        rollouts.end(index)
        await settle()
    assert not group.done()
    rollouts.end(1)
    assert [rollout.id for rollout in (await group).rollouts] == ["0", "1", "2"]


async def test_a_straggler_is_cut_at_the_deadline_and_its_sandbox_closed():
    rollouts = Rollouts(4)
    rollouts.end(1)
    rollouts.end(3)
    group = await rollouts.group(0)
    assert [rollout.id for rollout in group.rollouts] == ["1", "3"]
    assert group.asked == 4
    assert rollouts.cancelled == [0, 2]
    assert judge(group).tally.cut == 2


async def test_after_the_deadline_the_second_that_counts_is_still_waited_for_without_polling(monkeypatch):
    waits, wait = [], asyncio.wait
    monkeypatch.setattr(asyncio, "wait", lambda *args, **kwargs: waits.append(kwargs) or wait(*args, **kwargs))
    rollouts = Rollouts(4)
    rollouts.end(0)
    rollouts.end(1, None, mask_reason=EpisodeStatus.INFRA_ERROR)
    group = rollouts.group(0)
    await settle()
    assert not group.done()
    rollouts.end(2)
    assert [rollout.id for rollout in (await group).rollouts] == ["0", "1", "2"]
    assert len(waits) == 2


async def test_a_deadline_ends_the_wait_by_itself():
    rollouts = Rollouts(3)
    rollouts.end(0)
    rollouts.end(1)
    assert len((await rollouts.group(0.05)).rollouts) == 2


@pytest.mark.parametrize("deadline_s", [None, 0, 0.02])
async def test_a_group_that_hangs_is_given_up_with_what_there_is(deadline_s):
    rollouts = Rollouts(3)
    rollouts.end(1)
    group = await rollouts.group(deadline_s, give_up_s=0.05)
    assert [rollout.id for rollout in group.rollouts] == ["1"]
    assert rollouts.cancelled == [0, 2]


async def test_what_a_rollout_raises_comes_through_at_once_and_stops_the_others():
    rollouts = Rollouts(3)
    group = rollouts.group(None)
    rollouts.ends[1].set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await group
    assert rollouts.cancelled == [0, 2]


async def test_a_cancelled_group_stops_its_rollouts():
    rollouts = Rollouts(2)
    group = rollouts.group(None)
    await settle()
    group.cancel()
    with pytest.raises(asyncio.CancelledError):
        await group
    assert rollouts.cancelled == [0, 1]


def test_permuted_rewards_are_the_same_ones_dealt_out_among_what_counts():
    group = make_group(0.1, 0.2, 0.4, 0.8, None)
    dealt = [permuted(group, np.random.default_rng(seed)) for seed in range(20)]
    assert all(sorted(each.reward for each in found.counted) == [0.1, 0.2, 0.4, 0.8] for found in dealt)
    assert all(found.rollouts[4].reward is None for found in dealt)
    assert len({tuple(each.reward for each in found.counted) for found in dealt}) > 5


def test_a_permuted_reward_falls_on_the_last_turn_and_keeps_the_turns():
    rollouts = (Rollout("a", "t", (0.1, 0.2)), Rollout("b", "t", (0.1, 0.2, 0.6)))
    found = permuted(Group("t", rollouts, 2), np.random.default_rng(1))
    assert [len(each.turn_rewards) for each in found.rollouts] == [2, 3]
    assert all(not any(each.turn_rewards[:-1]) for each in found.rollouts)
