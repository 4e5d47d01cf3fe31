"""What a local sandbox consists of, and what its snapshots keep."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from sandmle.errors import InfraError
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._frozen import Frozen
from sandmle.sandboxes._guest.removal import remove_folder

__all__ = ["Body", "Done", "LocalSnapshot"]


class Body:
    """What a sandbox consists of, which ``restore`` exchanges.

    Attributes:
        parent: the frozen sandbox that it is a branch of, if it is one; held.
    """

    def __init__(self, channel: Channel, parent: Frozen | None = None, folder: Path | None = None) -> None:
        """Take over ``folder``, which only sandboxes without namespaces have."""
        self.parent = parent
        self._channel: Channel | None = channel
        self._making: asyncio.Task[Channel] | None = None
        self._folder = folder

    @classmethod
    def go_on(cls, parent: Frozen) -> Body:
        """What goes on from a frozen sandbox, made in the background: it is not always asked for anything again."""
        body = cls.__new__(cls)
        body.parent, body._channel, body._folder = parent.hold(), None, None
        body._making = asyncio.create_task(parent.go_on())
        return body

    @property
    def channel(self) -> Channel:
        """The way to its init, which has been reached."""
        assert self._channel is not None
        return self._channel

    async def reach(self) -> Channel:
        """The way to its init.

        Raises:
            InfraError: it could not be made.
        """
        if self._channel is None:
            assert self._making is not None
            self._channel = await asyncio.shield(self._making)
        return self._channel

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        try:
            with contextlib.suppress(InfraError):
                await (await self.reach()).close()
        finally:
            if self.parent is not None:
                await self.parent.release()
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove_folder, str(self._folder))


class Done(NamedTuple):
    """Something that changed a stateful sandbox, to be done again in a replay."""

    request: dict[str, Any]
    data: bytes
    limit: float


class LocalSnapshot:
    """See ``Snapshot``: a frozen sandbox, or what it takes to come to the same state again."""

    def __init__(self, family: object, done: tuple[Done, ...], frozen: Frozen | None, workspace: bytes) -> None:
        """Keep ``frozen``, or else the steps ``done`` and, of scripts, the ``workspace``."""
        self.family = family
        self.done = done
        self.frozen = frozen.want() if frozen else None
        self.workspace = workspace
        self.closed = False

    async def aclose(self) -> None:
        """Drop the state."""
        if not self.closed:
            self.closed = True
            if self.frozen is not None:
                self.frozen.unwant()
                await self.frozen.release()

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the snapshot."""
        await self.aclose()
