"""A stream of groups for the trainer: dynamic sampling, bounded staleness, and nobody waits for the slowest sandbox.

    async with GroupStream(roll, estimator, settings, batch=16) as stream:
        for _ in range(updates):
            groups, tally = await stream.take()
            ...                             # update the weights, and those of the sampler
            stream.advance()

Starting a group takes a *credit*. At first there are credits for one batch, and for one more a weight version of
``max_staleness``; ``advance`` gives credits for another, and dropping a group gives its credit back while refills last.
So the sampler is never further ahead than the trainer can use (AReaL, arXiv 2505.24298, bounds it alike). With
``max_staleness = 0`` nothing runs during an update, all is on-policy and repeatable. With more, an update takes the
first groups that arrive while others still run, and one that arrives too late is dropped as stale.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NamedTuple, Self

from sandmle.errors import BadInput
from sandmle.rl.algorithms import Estimator
from sandmle.rl.groups import GroupSettings, GroupTally, judge_group
from sandmle.rl.types import Group

__all__ = ["GroupStream", "Taken"]

_Arrival = tuple[int, Group | None]


class Taken(NamedTuple):
    """What one update learns from, in the order of the groups' indices, and what was counted on the way."""

    groups: tuple[Group, ...]
    tally: GroupTally


class GroupStream:
    """Runs groups ahead of the trainer, within bounds. One task at a time may take."""

    def __init__(
        self,
        roll: Callable[[int], Awaitable[Group]],
        estimator: Estimator,
        settings: GroupSettings,
        *,
        batch: int,
        version: int = 0,
        first: int = 0,
    ) -> None:
        """Nothing runs before the stream is entered.

        Args:
            roll: runs the group of an index; indices rise by one, so that they and a seed fix the order of tasks.
            estimator: of the advantages.
            settings: what is dropped.
            batch: groups an update.
            version: the weight version at the start.
            first: index of the first group.

        Raises:
            BadInput: the batch has no group.
        """
        if batch < 1:
            raise BadInput(f"a batch has 1 group or more, not {batch}")
        self._roll = roll
        self._estimator = estimator
        self._settings = settings
        self._batch = batch
        self._refills = settings.refills
        self._credits = asyncio.Semaphore(batch * (1 + settings.max_staleness))
        self._arrived: asyncio.Queue[_Arrival | asyncio.Task[None]] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()
        self._tally = GroupTally()
        self._starter: asyncio.Task[None] | None = None
        self.version = version
        self.next_index = first

    async def __aenter__(self) -> Self:
        """Start the first groups."""
        self._starter = asyncio.create_task(self._start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what still runs and wait until it is gone."""
        doomed = {*self._running, *([self._starter] if self._starter else [])}
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)

    async def take(self) -> Taken:
        """The groups of the next update: a batch, or fewer where refills ran out.

        Raises:
            Exception: what a group raised.
        """
        taken: list[tuple[int, Group]] = []
        lost = 0
        while len(taken) + lost < self._batch:
            arrival = await self._arrived.get()
            if isinstance(arrival, asyncio.Task):
                arrival.result()
                continue
            index, group = arrival
            if group is not None and (fresh := self._judge(group, final=True)) is not None:
                taken.append((index, fresh))
            elif group is None or not self._refill():
                lost += 1
        tally, self._tally = self._tally, GroupTally()
        return Taken(tuple(group for _, group in sorted(taken, key=lambda pair: pair[0])), tally)

    def advance(self) -> None:
        """Tell that the weights are one version newer; a batch of further groups may start."""
        self.version += 1
        self._refills = self._settings.refills
        for _ in range(self._batch):
            self._credits.release()

    async def _start(self) -> None:
        while True:
            await self._credits.acquire()
            task = asyncio.create_task(self._run(self.next_index))
            self.next_index += 1
            self._running.add(task)
            task.add_done_callback(self._ended)

    async def _run(self, index: int) -> None:
        """One group; if it can't be learnt from, another may start at once."""
        group = await self._roll(index)
        if self._judge(group, final=False) is not None:
            self._arrived.put_nowait((index, group))
        elif not self._refill():
            self._arrived.put_nowait((index, None))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled() or task.exception() is not None:
            self._arrived.put_nowait(task)

    def _judge(self, group: Group, *, final: bool) -> Group | None:
        """The group as an update at this version would have it; counted when it is dropped or taken, so once."""
        verdict = judge_group(group, self._estimator, self._settings, self.version)
        if final or verdict.group is None:
            self._tally += verdict.tally
        return verdict.group

    def _refill(self) -> bool:
        """Give a dropped group's credit back, while refills last."""
        if self._refills == 0:
            return False
        self._refills -= 1
        self._credits.release()
        return True
