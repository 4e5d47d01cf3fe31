"""Groups on the clock: rLLM waits for every episode of a batch, so those that are late are broken off here.

The rules are those of ``sandmle.rl.groups.run_group``. A group is the plays of one task in one batch; its clock starts
with the first of them. What is broken off, or would begin too late, counts as ``cancelled``, which rLLM masks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from sandmle.rl.groups import BASELINE
from sandmle.rl.rllm.records import counts
from sandmle.trajectory import Episode

__all__ = ["Clocks"]


@dataclass(eq=False)
class _Group:
    left: int
    counted: int = 0
    late: bool = False
    over: bool = False
    running: set[asyncio.Task[Episode]] = field(default_factory=set)
    timers: list[asyncio.TimerHandle] = field(default_factory=list)

    def pass_deadline(self) -> None:
        self.late = True
        self.go_on_if_enough()

    def go_on_if_enough(self) -> None:
        if self.late and self.counted >= BASELINE:
            self.go_on()

    def go_on(self) -> None:
        self.over = True
        for task in self.running:
            task.cancel()

    def stop_timers(self) -> None:
        for timer in self.timers:
            timer.cancel()


class Clocks:
    """The clocks of all groups that play; they belong to the event loop in which these do."""

    def __init__(self, group: int, deadline_s: float | None, give_up_s: float | None) -> None:
        """Set up.

        Args:
            group: plays of a task in a batch.
            deadline_s: seconds after which a group goes on without its stragglers, as soon as two episodes count.
            give_up_s: seconds after which it does so even if fewer count.
        """
        self._size = group
        self._deadline_s = deadline_s
        self._give_up_s = give_up_s
        self._groups: dict[str, _Group] = {}
        self._closed = False

    async def play(self, name: str, episode: Coroutine[Any, Any, Episode]) -> Episode | None:
        """The episode, played as one of the group ``name``; None if the group has gone on without it.

        Raises:
            CancelledError: all is closed.
        """
        if self._closed:
            episode.close()
            raise asyncio.CancelledError
        group = self._groups.get(name) or self._begin(name)
        task = asyncio.ensure_future(episode)
        group.running.add(task)
        try:
            if group.over:
                task.cancel()
            await asyncio.wait({task})
        finally:
            task.cancel()
            await asyncio.wait({task})
            group.running.discard(task)
            self._leave(name, group)
        if task.cancelled():
            if self._closed:
                raise asyncio.CancelledError
            return None
        found = task.result()
        group.counted += counts(found)
        group.go_on_if_enough()
        return found

    async def aclose(self) -> None:
        """Break off all that plays, let nothing more be played, and wait until all has ended."""
        self._closed = True
        groups, self._groups = list(self._groups.values()), {}
        for group in groups:
            group.go_on()
            group.stop_timers()
        await asyncio.gather(*(task for group in groups for task in group.running), return_exceptions=True)

    def _begin(self, name: str) -> _Group:
        group = self._groups[name] = _Group(left=self._size)
        later = asyncio.get_running_loop().call_later
        if self._deadline_s is not None:
            group.timers.append(later(self._deadline_s, group.pass_deadline))
        if self._give_up_s is not None:
            group.timers.append(later(self._give_up_s, group.go_on))
        return group

    def _leave(self, name: str, group: _Group) -> None:
        group.left -= 1
        if group.left == 0:
            self._groups.pop(name, None)
            group.stop_timers()
