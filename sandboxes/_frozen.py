"""A sandbox that runs no step any more, but whose state branches are forked from (see ``_guest.branch``)."""

from __future__ import annotations

import contextlib
import socket

from sandmle.errors import InfraError
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._guest import wire

__all__ = ["Frozen"]


class Frozen:
    """A frozen sandbox. Its branches die with it, so it is kept as long as somebody holds it.

    Attributes:
        depth: how many frozen sandboxes it is branched from, itself included.
    """

    def __init__(self, channel: Channel, parent: Frozen | None) -> None:
        """Take over ``channel``, whose init is frozen, and the hold on ``parent``, which that is a branch of."""
        self.depth: int = parent.depth + 1 if parent else 1
        self._channel = channel
        self._parent = parent
        self._holders = 0
        self._wanted = 0
        self._ended = False

    async def branch(self, index: int) -> Channel:
        """A new branch, with random generators that depend on its state and ``index``, which is above 0.

        Raises:
            Unforkable: its interpreter can't be forked.
            InfraError: it could not be made.
        """
        return await self._open(index)

    async def go_on(self) -> Channel:
        """A new branch that goes on as this sandbox would have, with its random generators; for who wants it.

        Raises:
            Unforkable: its interpreter can't be forked.
            InfraError: it could not be made.
        """
        return await self._open(0)

    async def _open(self, index: int) -> Channel:
        return await Channel.open({"index": index, "namespaces": wire.USERS}, self, self._channel.make_group)

    def want(self) -> Frozen:
        """Keep it, and its interpreter for more branches, until one more ``unwant`` and ``release``."""
        self._wanted += 1
        return self.hold()

    def unwant(self) -> None:
        """Let its interpreter go if nobody else wants branches."""
        self._wanted -= 1
        if self._wanted == 0:
            with contextlib.suppress(OSError):
                self._channel.socket.send(wire.ORDER.pack(wire.SEAL, 0))

    def hold(self) -> Frozen:
        """Keep it until one more ``release``."""
        self._holders += 1
        return self

    async def release(self) -> None:
        """End it if nobody else holds it."""
        self._holders -= 1
        if self._holders == 0 and not self._ended:
            self._ended = True
            try:
                await self._channel.close()
            finally:
                if self._parent is not None:
                    await self._parent.release()

    def fork(self, channel: socket.socket, namespaces: int) -> None:
        """See ``Forker``."""
        try:
            socket.send_fds(self._channel.socket, [wire.ORDER.pack(wire.FORK, namespaces)], [channel.fileno()])
        except OSError as error:
            raise InfraError("the forked sandbox is gone: its init has ended") from error

    def kill(self, pid: int) -> None:
        """See ``Forker``."""
        with contextlib.suppress(OSError):
            self._channel.socket.send(wire.ORDER.pack(wire.KILL, pid))

    def last_words(self) -> str:
        """See ``Forker``."""
        return self._channel.last_words()
