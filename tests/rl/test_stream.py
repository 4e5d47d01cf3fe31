"""The stream of groups: on-policy or with bounded staleness, refills, errors, and no waiting for the slowest."""

import asyncio
from contextlib import asynccontextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.rl.algorithms import make_estimator
from sandmle.rl.groups import GroupSettings
from sandmle.rl.stream import GroupStream
from sandmle.rl.types import CONTEXT, Group, Rollout, Row


def make_group(index, version, *, flat=False):
    row = Row(np.arange(2), np.array([CONTEXT, 0]), np.array([False, True]), np.zeros(2), version)
    rollouts = [Rollout(f"{index}-{i}", str(index), (0.0 if flat else float(i),), (row,)) for i in range(2)]
    return Group(str(index), tuple(rollouts), asked=2)


class Roller:
    """Runs groups with the stream's weights; those of ``held`` end when told, those of ``flat`` teach nothing."""

    def __init__(self, *, flat=(), held=()):
        self.flat = set(flat)
        self.held = {index: asyncio.Event() for index in held}
        self.started, self.cancelled = [], []
        self.stream = None

    async def __call__(self, index):
        self.started.append(index)
        version = self.stream.version
        try:
            if index in self.held:
                await self.held[index].wait()
        except asyncio.CancelledError:
            self.cancelled.append(index)
            raise
        return make_group(index, version, flat=index in self.flat)


@asynccontextmanager
async def streaming(roller, *, batch=2, first=0, version=0, **choices):
    grpo = make_estimator({"name": "grpo"})
    roller.stream = GroupStream(roller, grpo, GroupSettings(**choices), batch=batch, first=first, version=version)
    async with roller.stream as stream:
        yield stream


def ids(taken):
    return [int(group.task_id) for group in taken.groups]


async def settle():
    for _ in range(50):
        await asyncio.sleep(0)


async def test_on_policy_nothing_runs_during_an_update():
    roller = Roller()
    async with streaming(roller) as stream:
        assert ids(await stream.take()) == [0, 1]
        await settle()
        assert roller.started == [0, 1]
        stream.advance()
        assert ids(await stream.take()) == [2, 3]
        assert stream.next_index == 4


async def test_flat_groups_are_refilled_and_counted():
    async with streaming(Roller(flat=[0, 2])) as stream:
        taken = await stream.take()
    assert ids(taken) == [1, 3]
    assert (taken.tally.groups, taken.tally.equal, taken.tally.kept) == (4, 2, 2)


async def test_refills_run_out_and_the_batch_is_smaller_for_once():
    roller = Roller(flat=[0, 1, 2])
    async with streaming(roller, refills=1) as stream:
        taken = await stream.take()
        assert ids(taken) == []
        assert taken.tally.equal == 3
        stream.advance()
        assert ids(await stream.take()) == [3, 4]


async def test_each_update_has_its_own_refills():
    async with streaming(Roller(flat=[0, 3]), refills=1) as stream:
        assert ids(await stream.take()) == [1, 2]
        stream.advance()
        assert ids(await stream.take()) == [4, 5]


async def test_flat_groups_that_are_kept_are_not_refilled():
    async with streaming(Roller(flat=[0]), flat="keep") as stream:
        assert ids(await stream.take()) == [0, 1]


async def test_an_update_does_not_wait_for_the_slowest_group():
    roller = Roller(held=[0])
    async with streaming(roller, max_staleness=1) as stream:
        assert ids(await stream.take()) == [1, 2]
        stream.advance()
        assert ids(await stream.take()) == [3, 4]
        roller.held[0].set()
        await settle()
        assert ids(await stream.take()) == [0, 5]


async def test_what_arrives_too_late_is_dropped_counted_and_refilled():
    roller = Roller(held=[0])
    async with streaming(roller, max_staleness=1) as stream:
        for expected in ([1, 2], [3, 4]):
            assert ids(await stream.take()) == expected
            stream.advance()
        roller.held[0].set()
        await settle()
        taken = await stream.take()
    assert 0 not in ids(taken)
    assert len(taken.groups) == 2
    assert (taken.tally.stale_rows, taken.tally.stale) == (2, 2)


async def test_what_became_stale_while_it_waited_is_dropped_too():
    roller = Roller()
    async with streaming(roller, max_staleness=1) as stream:
        await settle()
        assert roller.started == [0, 1, 2, 3]
        for _ in range(2):
            stream.advance()
        taken = await stream.take()
    assert not set(ids(taken)) & {0, 1, 2, 3}
    assert taken.tally.stale_rows == 8


async def test_what_a_group_raises_is_raised_and_the_others_stop():
    roller = Roller(held=[1])

    async def fail(index):
        if index == 0:
            raise BadInput("no such model")
        return await roller(index)

    roller.stream = GroupStream(fail, make_estimator({"name": "grpo"}), GroupSettings(), batch=2)
    with pytest.raises(BadInput, match="no such model"):
        async with roller.stream as stream:
            await stream.take()
    assert roller.cancelled == [1]


async def test_a_group_that_cancels_itself_does_not_hang_the_trainer():
    async def cancelled(index):
        raise asyncio.CancelledError

    stream = GroupStream(cancelled, make_estimator({"name": "grpo"}), GroupSettings(), batch=1)
    with pytest.raises(asyncio.CancelledError):
        async with stream:
            await stream.take()


async def test_leaving_early_stops_everything():
    roller = Roller(held=[0, 1, 2, 3])
    async with streaming(roller, max_staleness=1):
        await settle()
    assert sorted(roller.cancelled) == [0, 1, 2, 3]


async def test_a_stream_goes_on_where_an_earlier_one_stopped():
    async with streaming(Roller(), first=6, version=3) as stream:
        assert ids(await stream.take()) == [6, 7]
        assert stream.version == 3


def test_a_batch_has_a_group():
    with pytest.raises(BadInput, match="1 group or more, not 0"):
        GroupStream(Roller, make_estimator({"name": "grpo"}), GroupSettings(), batch=0)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), flat=st.sets(st.integers(0, 11), max_size=6), staleness=st.integers(0, 2))
def test_no_row_is_older_than_allowed_and_no_more_groups_start_than_can_be_used(data, flat, staleness):
    """Groups end in any order; on-policy, the order has no influence on what is taken."""

    async def train():
        held = range(60)
        roller = Roller(flat=flat, held=held)
        async with streaming(roller, max_staleness=staleness) as stream:
            refilled = 0
            for update in range(4):
                take = asyncio.create_task(stream.take())
                while not take.done():
                    await settle()
                    running = [index for index in roller.started if not roller.held[index].is_set()]
                    if take.done() or not running:
                        continue
                    roller.held[data.draw(st.sampled_from(running))].set()
                taken = await take
                refilled += taken.tally.groups - taken.tally.kept
                assert len(roller.started) <= 2 * (update + 1 + staleness) + refilled
                versions = [row.weight_version for group in taken.groups for r in group.rollouts for row in r.rows]
                assert min(versions) >= update - staleness
                assert len(taken.groups) == 2
                if staleness == 0:
                    usable = [index for index in range(60) if index not in flat]
                    assert ids(taken) == usable[2 * update : 2 * update + 2]
                stream.advance()

    asyncio.run(train())
