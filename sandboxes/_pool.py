"""A few sandboxes that are made before they are asked for: rollouts of one task ask for the same again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from sandmle.errors import SandmleError
from sandmle.sandboxes._body import Body

__all__ = ["Pool"]

Make = Callable[[], Awaitable[Body]]


class Pool:
    """Keeps ``ready`` bodies of the kind that was asked for last. All of it belongs to one event loop."""

    def __init__(self, ready: int) -> None:
        """Keep so many; nothing is made before the first ``take``."""
        self._ready = ready
        self._kind: object = None
        self._waiting: deque[asyncio.Task[Body]] = deque()
        self._dropping: set[asyncio.Task[None]] = set()

    async def take(self, kind: object, make: Make) -> Body:
        """A body of this kind, made now if none is ready; others are made in the background.

        Args:
            kind: bodies of equal kinds can stand for one another.
            make: makes one.

        Raises:
            SandmleError: it could not be made.
        """
        if kind != self._kind:
            self._drop()
            self._kind = kind
        body = await self._next() or await make()
        while len(self._waiting) < self._ready and self._kind == kind:
            self._waiting.append(asyncio.create_task(_start(make)))
        return body

    async def aclose(self) -> None:
        """Close what nobody has taken."""
        self._drop()
        self._kind = None
        await asyncio.gather(*self._dropping)

    async def _next(self) -> Body | None:
        """One that waits and still lives."""
        while self._waiting:
            task = self._waiting.popleft()
            try:
                body = await asyncio.shield(task)
            except asyncio.CancelledError:
                self._give_up(task)
                raise
            except SandmleError:
                continue
            if body.channel.alive:
                return body
            await body.aclose()
        return None

    def _drop(self) -> None:
        while self._waiting:
            self._give_up(self._waiting.popleft())

    def _give_up(self, task: asyncio.Task[Body]) -> None:
        closing = asyncio.create_task(_close(task))
        self._dropping.add(closing)
        closing.add_done_callback(self._dropping.discard)


async def _start(make: Make) -> Body:
    return await make()


async def _close(task: asyncio.Task[Body]) -> None:
    with contextlib.suppress(SandmleError):
        await (await task).aclose()
