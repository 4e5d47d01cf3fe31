"""The time that an episode has used: waiting for a busy endpoint, for a core or for us is not the agent's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from sandmle.agents.chat import while_waiting

__all__ = ["Clock"]


class Clock:
    """Starts when it is made; stands still while a model call inside ``within`` waits for the pace of its endpoint.

    What an action takes beyond the run of its code is taken off by ``forgive``.

    Args:
        now: a monotonic clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._started = now()

    @property
    def seconds(self) -> float:
        """Seconds since the start, less those that it stood still."""
        return self._now() - self._started

    def forgive(self, seconds: float) -> None:
        """Take off seconds that have passed; those below 0 are none."""
        self._started += max(seconds, 0.0)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Do what is inside in so many seconds of this clock.

        Raises:
            TimeoutError: it took longer.
        """
        async with asyncio.timeout(seconds) as timer:
            with while_waiting(partial(self._stand_still, timer)):
                yield

    @contextmanager
    def _stand_still(self, timer: asyncio.Timeout) -> Iterator[None]:
        loop, began, ends = asyncio.get_running_loop(), self._now(), timer.when()
        left = None if ends is None else ends - loop.time()
        timer.reschedule(None)
        try:
            yield
        finally:
            self._started += self._now() - began
            timer.reschedule(None if left is None else loop.time() + left)
