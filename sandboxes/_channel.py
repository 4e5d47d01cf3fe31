"""The host's end of the connection to a sandbox's init: requests and answers, matched by number."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from sandmle.errors import InfraError
from sandmle.sandboxes._guest import wire

__all__ = ["Channel"]

_START_S = 30.0
_CANCEL_S = 10.0
_COMMAND = "import sys; sys.path.insert(0, {folder!r}); from _guest.main import main; main({fd})"

Answer = tuple[dict[str, Any], bytes]


class Channel:
    """A started init and the way to talk to it. All of it belongs to one event loop."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: int) -> None:
        self._process = process
        self._complaints = complaints
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    async def open(cls, config: dict[str, Any], python: str) -> Channel:
        """Start an init and wait until its sandbox stands.

        Raises:
            InfraError: it could not be started, or says why the sandbox can't be made here.
        """
        ours, theirs = socket.socketpair()
        complaints = os.memfd_create("init") if sys.platform == "linux" else os.open(os.devnull, os.O_RDWR)
        try:
            with theirs:
                channel = cls(_start(python, theirs.fileno(), complaints), complaints)
        except BaseException:
            ours.close()
            os.close(complaints)
            raise
        try:
            reader, channel._writer = await asyncio.open_connection(sock=ours)
            await channel._send({**config, "host_pid": os.getpid()})
            answer, _ = await asyncio.wait_for(_receive(reader), _START_S)
            if "problem" in answer:
                raise InfraError(f"the sandbox could not be made: {answer['problem']}")
            channel._listener = asyncio.create_task(channel._listen(reader))
        except (EOFError, ConnectionError, TimeoutError) as error:
            problem = f"the sandbox could not be made: {channel._last_words() or 'its init does not answer'}"
            await channel.close()
            raise InfraError(problem) from error
        except BaseException:
            await channel.close()
            raise
        return channel

    async def ask(self, request: dict[str, Any], blob: bytes, limit: float) -> Answer:
        """Send a request and wait for its answer; if cancelled, the running step is killed before this returns.

        Args:
            request: what to do.
            blob: bytes that go with it.
            limit: seconds after which the init itself is taken for stuck.

        Raises:
            InfraError: the init is gone or stuck.
        """
        if self._listener is None or self._listener.done():
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

    async def close(self) -> None:
        """Hang up, which ends everything inside, and wait until it is gone."""
        try:
            if self._writer is not None:
                self._writer.close()
            if self._listener is not None:
                self._listener.cancel()
                await asyncio.wait({self._listener})
            await asyncio.to_thread(self._process.wait, _CANCEL_S)
        except subprocess.TimeoutExpired:
            self.kill()
            await asyncio.to_thread(self._process.wait)
        finally:
            if self._complaints >= 0:
                os.close(self._complaints)
                self._complaints = -1

    def kill(self) -> None:
        """Kill the init, and with it all inside, without asking."""
        self._process.kill()

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
                future = self._waiting.get(answer["id"])
                if future is not None and not future.done():
                    future.set_result((answer, data))
        except (EOFError, ConnectionError):
            pass
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_result(({"problem": "its init has ended"}, b""))

    def _last_words(self) -> str:
        """The end of what the init wrote to stderr before it died."""
        if sys.platform != "linux":
            return ""
        size = os.fstat(self._complaints).st_size
        lines = os.pread(self._complaints, 2000, max(0, size - 2000)).decode("utf-8", "replace").splitlines()
        return lines[-1] if lines else ""


async def _receive(reader: asyncio.StreamReader) -> Answer:
    text_size, blob_size = wire.HEADER.unpack(await reader.readexactly(wire.HEADER.size))
    return wire.decode(await reader.readexactly(text_size)), await reader.readexactly(blob_size)


def _start(python: str, fd: int, complaints: int) -> subprocess.Popen[bytes]:
    """Start the init; its parent for PR_SET_PDEATHSIG is the calling thread, which runs the event loop."""
    command = _COMMAND.format(folder=str(Path(__file__).resolve().parent), fd=fd)
    flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    try:
        return subprocess.Popen(
            [python, *flags, "-c", command],
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env={"LANG": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise InfraError(f"{python}: can't be started ({error.strerror or error})") from error
