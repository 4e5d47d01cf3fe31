"""What a local sandbox consists of, and what its snapshots keep."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from sandmle.closing import Closing
from sandmle.errors import InfraError
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._frozen import Frozen
from sandmle.sandboxes._guest.removal import remove_folder

__all__ = ["Body", "Done", "LocalSnapshot"]


class Body:
    """What a sandbox consists of, which ``restore`` exchanges.

    Attributes:
        parent: the frozen sandbox that it is a branch of, if it is one; held.
    """

    def __init__(self, channel: Channel | None, parent: Frozen | None = None, folder: Path | None = None) -> None:
        """Take over the hold on ``parent``, and ``folder``, which only sandboxes without namespaces have."""
        self.parent = parent
        self._channel = channel
        self._making: asyncio.Task[None] | None = None
        self._folder = folder
        self._closed = False

    @classmethod
    def go_on(cls, parent: Frozen) -> Body:
        """What goes on from a frozen sandbox, made when it is reached for, or in the background after ``start``."""
        return cls(None, parent.want())

    @property
    def channel(self) -> Channel:
        """The way to its init, which has been reached."""
        assert self._channel is not None
        return self._channel

    def start(self) -> None:
        """Have it made in the background, if it is not; what has failed is tried again."""
        if self._channel is None and not self._closed and (self._making is None or self._making.done()):
            self._making = asyncio.create_task(self._make())
            self._making.add_done_callback(lambda made: made.cancelled() or made.exception())  # which counts as seen

    async def reach(self) -> Channel:
        """The way to its init.

        Raises:
            InfraError: it could not be made.
        """
        self.start()
        if self._making is not None:
            await asyncio.wait({self._making})
            if self._making.cancelled():
                raise InfraError("the sandbox is closed")
            self._making.result()
        return self.channel

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace, to the end even if cancelled; safe to call twice."""
        if not self._closed:
            self._closed = True
            await finish(self._close())

    async def _make(self) -> None:
        assert self.parent is not None
        self._channel = await self.parent.go_on()
        self.parent.unwant()

    async def _close(self) -> None:
        try:
            if self._making is not None and not self._making.done():
                self._making.cancel()
                await asyncio.wait({self._making})
            if self._channel is not None:
                await self._channel.close()
        finally:
            if self.parent is not None:
                if self._channel is None:
                    self.parent.unwant()
                await self.parent.release()
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove_folder, str(self._folder))


class Done(NamedTuple):
    """Something that changed a stateful sandbox, to be done again in a replay."""

    request: dict[str, Any]
    data: bytes
    limit: float


class LocalSnapshot(Closing):
    """See ``Snapshot``: a frozen sandbox, or what it takes to come to the same state again."""

    def __init__(
        self,
        family: object,
        done: tuple[Done, ...],
        diverge: tuple[int, ...],
        frozen: Frozen | None,
        workspace: bytes,
    ) -> None:
        """Take over ``frozen``, which is wanted, or else keep the steps ``done`` and, of scripts, the ``workspace``.

        ``diverge`` is what was still to be told to the random generators.
        """
        self.family = family
        self.done = done
        self.diverge = diverge
        self.frozen = frozen
        self.workspace = workspace
        self.closed = False

    async def aclose(self) -> None:
        """Drop the state."""
        if not self.closed:
            self.closed = True
            if self.frozen is not None:
                self.frozen.unwant()
                await finish(self.frozen.release())
