"""Groups on the clock, without rLLM: episodes end when a test says so, or never."""

import asyncio

import pytest

from sandmle.rl.rllm.stragglers import Clocks
from sandmle.trajectory import Episode, EpisodeStatus


def an_episode(repeat, status=EpisodeStatus.ANSWERED):
    return Episode(
        id=f"{repeat:016x}",
        task_id="a-task",
        task_hash="0" * 64,
        scaffold="react",
        policy="policy",
        protocol="train",
        repeat=repeat,
        status=status,
    )


async def done(repeat, status=EpisodeStatus.ANSWERED):
    return an_episode(repeat, status)


async def stuck(closed):
    try:
        await asyncio.Event().wait()
    finally:
        closed.append(True)


async def together(clocks, plays, name="0/a-task"):
    return await asyncio.gather(*(clocks.play(name, play) for play in plays))


async def test_a_group_waits_for_all_without_a_deadline():
    clocks, late = Clocks(3, None, None), asyncio.Event()

    async def slow():
        await late.wait()
        return an_episode(2)

    group = asyncio.ensure_future(together(clocks, [done(0), done(1), slow()]))
    await asyncio.sleep(0)
    assert not group.done()
    late.set()
    assert [each.repeat for each in await group] == [0, 1, 2]


async def test_after_the_deadline_stragglers_are_broken_off_and_their_sandboxes_closed():
    closed = []
    found = await together(Clocks(4, 0.01, None), [done(0), stuck(closed), done(2), stuck(closed)])
    assert [each and each.repeat for each in found] == [0, None, 2, None]
    assert closed == [True, True]


async def test_after_the_deadline_the_second_that_counts_ends_the_wait():
    closed, late = [], asyncio.Event()

    async def slow():
        await late.wait()
        return an_episode(1)

    masked = done(3, EpisodeStatus.INFRA_ERROR)
    group = asyncio.ensure_future(together(Clocks(4, 0.01, None), [done(0), slow(), stuck(closed), masked]))
    asyncio.get_running_loop().call_later(0.03, late.set)
    assert [each and each.repeat for each in await group] == [0, 1, None, 3]
    assert closed == [True]


async def test_one_that_counts_is_waited_for_until_it_is_time_to_give_up():
    closed = []
    assert await together(Clocks(2, 0.01, 0.03), [done(0), stuck(closed)]) == [an_episode(0), None]
    assert closed == [True]


async def test_what_begins_too_late_is_not_played():
    clocks, begun = Clocks(2, None, 0.01), []
    assert await clocks.play("0/a-task", stuck([])) is None

    async def begin():
        begun.append(True)

    assert await clocks.play("0/a-task", begin()) is None
    assert not begun
    assert await clocks.play("0/a-task", done(0)) == an_episode(0)  # of the next batch, which has a clock of its own


async def test_groups_have_clocks_of_their_own_and_faults_come_through():
    async def fail():
        raise RuntimeError("broken")

    clocks = Clocks(2, 0.01, None)
    one = asyncio.ensure_future(together(clocks, [done(0), done(1)], "0/one"))
    with pytest.raises(RuntimeError, match="broken"):
        await together(clocks, [done(0), fail()], "0/other")
    assert [each.repeat for each in await one] == [0, 1]


async def test_a_play_that_is_cancelled_from_outside_closes_its_sandbox():
    closed = []
    play = asyncio.ensure_future(Clocks(2, None, None).play("0/a-task", stuck(closed)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    play.cancel()
    with pytest.raises(asyncio.CancelledError):
        await play
    assert closed == [True]


async def test_when_all_is_closed_nothing_more_is_played():
    """Whoever plays is cancelled, rather than told of an episode that it would replace."""
    clocks, closed = Clocks(2, None, None), []
    play = asyncio.ensure_future(clocks.play("0/a-task", stuck(closed)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await clocks.aclose()
    for late in (play, clocks.play("1/a-task", done(0))):
        with pytest.raises(asyncio.CancelledError):
            await late
    assert closed == [True]
