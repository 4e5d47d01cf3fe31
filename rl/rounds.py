"""Groups in rounds: a batch at once, then as many more as were dropped, until it is full or refills ran out.

The other way to get groups is ``GroupStream``, which never waits for the slowest. A round waits, and for that it
depends on nothing but the groups' indices, so that a run can be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sandmle.rl.algorithms import Estimator
from sandmle.rl.groups import GroupSettings, GroupTally, judge_group
from sandmle.rl.stream import Taken
from sandmle.rl.types import Group

__all__ = ["take_rounds"]


async def take_rounds(
    roll: Callable[[int], Awaitable[Group]],
    estimator: Estimator,
    settings: GroupSettings,
    *,
    batch: int,
    version: int,
    first: int,
) -> tuple[Taken, int]:
    """The groups of one update, and the index after the last that was rolled.

    Args:
        roll: runs the group of an index.
        estimator: of the advantages.
        settings: what is dropped, and how many are drawn in its place.
        batch: groups of an update.
        version: the trainer's weight version.
        first: index of the first group.

    Raises:
        Exception: what a group raised; the others are cancelled.
    """
    taken: list[Group] = []
    tally, index, refills = GroupTally(), first, settings.refills
    wanted = batch
    while wanted:
        async with asyncio.TaskGroup() as tasks:
            rolling = [tasks.create_task(_as_coroutine(roll(index + place))) for place in range(wanted)]
        index += wanted
        for group in (each.result() for each in rolling):
            verdict = judge_group(group, estimator, settings, version)
            tally += verdict.tally
            if verdict.group is not None:
                taken.append(verdict.group)
        wanted = min(batch - len(taken), refills)
        refills -= wanted
    return Taken(tuple(taken), tally), index


async def _as_coroutine(group: Awaitable[Group]) -> Group:
    return await group
