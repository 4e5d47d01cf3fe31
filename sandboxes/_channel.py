"""The host's end of the connection to a sandbox's init: requests and answers, matched by number."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import select
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

from sandmle.errors import InfraError
from sandmle.sandboxes._cgroups import Group
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._guest import wire

__all__ = ["Channel", "Forker", "Unforkable"]

_START_S = 120.0
"""Enough for a zygote that has only just been started, on a busy machine."""
_CANCEL_S = 10.0

Answer = tuple[dict[str, Any], bytes]
_READY = -1
"""The number of the first answer, which nobody asks for."""
_GONE: dict[str, Any] = {"problem": "its init has ended"}


class Unforkable(InfraError):
    """The interpreter of a frozen sandbox can't be forked, or not be trusted when it is."""


class Forker(Protocol):
    """What inits are forked from: a zygote, or the init of a frozen sandbox."""

    def fork(self, channel: socket.socket, namespaces: int) -> None:
        """Have an init forked that serves the other end of ``channel``; into which namespaces says ``_guest.wire``.

        Raises:
            InfraError: the forker is gone.
        """

    def kill(self, pid: int) -> None:
        """Have the process killed that was forked with this id, if it still is there."""

    def last_words(self) -> str:
        """What it or one of its sandboxes last complained of; empty if of nothing."""


class Channel:
    """A started init and the way to talk to it. All of it belongs to one event loop.

    Attributes:
        make_group: makes the control group of a sandbox of this kind.
        pid: the process that was forked, as its forker knows it; 0 before it has spoken.
        socket: our end, for who speaks to an init that has been frozen and answers no more.
    """

    def __init__(
        self, forker: Forker, ours: socket.socket, make_group: Callable[[], Group], belongings: ExitStack
    ) -> None:
        self.make_group = make_group
        self.pid = 0
        self._belongings = belongings
        self._forker = forker
        self.socket = ours
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    async def open(
        cls,
        config: dict[str, Any],
        forker: Forker,
        make_group: Callable[[], Group],
        release: Callable[[], None] | None = None,
    ) -> Channel:
        """Have an init forked and wait until its sandbox stands.

        Args:
            config: what the init is told.
            forker: what it is forked from.
            make_group: makes the sandbox's control group, which is closed with the channel.
            release: called when the sandbox is gone, also if it could not be made.

        Raises:
            InfraError: it could not be started, or says why the sandbox can't be made here.
        """
        begun: list[Channel] = []
        try:
            await finish(asyncio.to_thread(lambda: begun.append(cls._fork(config, forker, make_group, release))))
            await begun[0]._start(config)
        except BaseException:
            for channel in begun:
                await finish(channel.close())
            raise
        return begun[0]

    @classmethod
    def _fork(
        cls,
        config: dict[str, Any],
        forker: Forker,
        make_group: Callable[[], Group],
        release: Callable[[], None] | None,
    ) -> Channel:
        with ExitStack() as failed:
            if release is not None:
                failed.callback(release)
            group = make_group()
            failed.callback(group.close)
            ours, theirs = socket.socketpair()
            failed.callback(ours.close)
            with theirs:
                forker.fork(theirs, config["namespaces"])
            socket.send_fds(ours, [bytes([len(group.join)])], group.descriptors)
            return cls(forker, ours, make_group, failed.pop_all())

    async def _start(self, config: dict[str, Any]) -> None:
        """Tell the init its configuration and wait until its sandbox stands."""
        self._loop = asyncio.get_running_loop()
        reader, self._writer = await asyncio.open_connection(sock=self.socket)
        ready = self._waiting[_READY] = self._loop.create_future()
        self._listener = asyncio.create_task(self._listen(reader))
        with contextlib.suppress(ConnectionError):
            await self._send(config)
        await asyncio.wait({ready}, timeout=_START_S)
        del self._waiting[_READY]
        answer = ready.result()[0] if ready.done() else _GONE
        if answer is _GONE:
            problem = self._forker.last_words() or "its init does not answer"
            raise InfraError(f"the sandbox could not be made: {problem}")
        if "problem" in answer:
            kind = Unforkable if "unforkable" in answer else InfraError
            raise kind(f"the sandbox could not be made: {answer['problem']}")
        self.pid = answer["pid"]

    @property
    def alive(self) -> bool:
        """Whether the init has not hung up."""
        return self._listener is not None and not self._listener.done()

    async def ask(self, request: dict[str, Any], blob: bytes, limit: float) -> Answer:
        """Send a request and wait for its answer; if cancelled, the running step is killed before this returns.

        Args:
            request: what to do.
            blob: bytes that go with it.
            limit: seconds after which the init itself is taken for stuck.

        Raises:
            InfraError: the init is gone or stuck.
        """
        if self._loop is not asyncio.get_running_loop():
            raise InfraError("the sandbox belongs to another event loop: use it where it was made")
        if not self.alive:
            raise InfraError("the sandbox is gone: its init has ended")
        number = next(self._numbers)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._send({**request, "id": number}, blob)
            await asyncio.wait({future}, timeout=limit)
        except asyncio.CancelledError:
            await self._cancel(future)
            raise
        except ConnectionError as error:
            raise InfraError("the sandbox is gone: its init has ended") from error
        finally:
            del self._waiting[number]
        if not future.done():
            self.kill()
            raise InfraError(f"the sandbox did not answer within {limit:.0f} s and was killed")
        answer, data = future.result()
        if "problem" in answer:
            raise InfraError(f"the sandbox failed: {answer['problem']}")
        return answer, data

    async def freeze(self) -> str:
        """Have the init run no step any more, but fork branches.

        Returns:
            why it can't, and goes on as before; empty if it is frozen.

        Raises:
            InfraError: the init is gone or stuck.
        """
        answer, _ = await self.ask({"op": "freeze"}, b"", _START_S)
        return str(answer["refused"])

    async def close(self) -> None:
        """Hang up, which ends everything inside, and wait until it is gone: then its end of the channel is closed."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            await self._close_from_afar(self._loop)
            return
        try:
            if self._writer is not None and self._listener is not None:
                self._writer.write_eof()
                await asyncio.wait({self._listener}, timeout=_CANCEL_S)
                if not self._listener.done():
                    self.kill()
                    await asyncio.wait({self._listener}, timeout=_CANCEL_S)
        finally:
            if self._listener is not None:
                self._listener.cancel()
            if self._writer is not None:
                self._writer.transport.abort()
            self._belongings.close()

    async def _close_from_afar(self, home: asyncio.AbstractEventLoop) -> None:
        """Close it from another event loop than its own, which may be over."""
        if home.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.close(), home))
            return
        self.kill()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            await asyncio.to_thread(_wait_for_end, self.socket, _CANCEL_S)
        self._belongings.close()

    def last_words(self) -> str:
        """What the init's forker, or one of its sandboxes, last complained of."""
        return self._forker.last_words()

    def kill(self) -> None:
        """Kill the init, and with it all inside, without asking."""
        if self.pid:
            self._forker.kill(self.pid)

    async def _send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        assert self._writer is not None
        self._writer.write(wire.encode(message, blob))
        await self._writer.drain()

    async def _cancel(self, future: asyncio.Future[Answer]) -> None:
        try:
            await self._send({"op": "cancel"})
            await asyncio.wait({future}, timeout=_CANCEL_S)
        except ConnectionError:
            return
        finally:
            if not future.done():
                self.kill()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                answer, data = await _receive(reader)
                future = self._waiting.get(answer.get("id", _READY))
                if future is not None and not future.done():
                    future.set_result((answer, data))
        except (EOFError, ConnectionError):
            pass
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_result((_GONE, b""))


async def _receive(reader: asyncio.StreamReader) -> Answer:
    text_size, blob_size = wire.HEADER.unpack(await reader.readexactly(wire.HEADER.size))
    return wire.decode(await reader.readexactly(text_size)), await reader.readexactly(blob_size)


def _wait_for_end(end: socket.socket, limit: float) -> None:
    hung_up = select.poll()
    hung_up.register(end, select.POLLHUP)
    hung_up.poll(limit * 1000)
