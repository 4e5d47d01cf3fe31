"""``serving``: a server in a process of its own, from its start to its end."""

from __future__ import annotations

import asyncio
import http.client
import signal
import sys
import urllib.request
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from sandmle.errors import EnvironmentProblem

__all__ = ["DIRECT", "Server", "serving"]

_KEEPER = Path(__file__).with_name("_keeper.py")
_START_S = 1_800.0
"""A large model may be read from a slow disk for that long."""
_FIRST_S, _LONGEST_S = 0.05, 2.0
_LINES, _TAIL = 15, 16_384
_STANDARD_ERROR = 2
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens addresses of this machine, past any proxy."""

_T = TypeVar("_T")


class Server:
    """A server in a process of its own.

    Attributes:
        url: its address, without ``/v1``.
    """

    def __init__(self, url: str, what: str, advice: str, process: asyncio.subprocess.Process) -> None:
        """The server that ``process`` runs or will run; see ``serving``."""
        self.url = url
        self._what, self._advice = what, advice
        self._log = _Log()
        self._reading = asyncio.create_task(self._log.keep(process.stdout))
        self._ended = asyncio.create_task(process.wait())

    async def gone(self) -> None:
        """Until the process has ended and its output is read."""
        await asyncio.gather(self._reading, self._ended)

    async def during(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What ``work`` gives, which is cancelled if the server ends.

        Raises:
            EnvironmentProblem: it ended.
        """
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        raise self._problem(await self._ended, self._advice)

    async def ready(self, seconds: float) -> None:
        """Until it answers; it is asked ever more rarely, and its end is noticed at once.

        Raises:
            EnvironmentProblem: it ended, or did not answer in time.
        """
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + seconds, _FIRST_S
        while not await asyncio.to_thread(_healthy, self.url):
            if loop.time() > end:
                raise EnvironmentProblem(
                    f"the server of {self._what} gave no answer in {seconds:g} s{self._log.tail()}"
                )
            await asyncio.wait({self._ended}, timeout=pause)
            if self._ended.done():
                raise self._problem(self._ended.result(), " before it was ready")
            pause = min(2 * pause, _LONGEST_S)

    def _problem(self, code: int, more: str) -> EnvironmentProblem:
        return EnvironmentProblem(f"the server of {self._what} {_how(code)}{more}{self._log.tail()}")


@asynccontextmanager
async def serving(
    command: Sequence[str],
    url: str,
    what: str,
    *,
    advice: str = "",
    show: bool = False,
    start_seconds: float = _START_S,
) -> AsyncIterator[Server]:
    """Start a server, wait until it is healthy, and stop it with all its processes, even if we are killed.

    Args:
        command: starts it; it listens at ``url`` and answers ``GET /health`` when it is ready.
        url: without ``/v1``.
        what: what it serves, for messages.
        advice: what a user should do if it dies later.
        show: pass its output on to standard error; else the last lines of it are part of an error.
        start_seconds: what it has to get ready.

    Raises:
        EnvironmentProblem: it did not get ready.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_KEEPER), *command),
        stdin=PIPE,
        stdout=_STANDARD_ERROR if show else PIPE,
        stderr=STDOUT,
        start_new_session=True,
    )
    server = Server(url, what, advice, process)
    try:
        await server.ready(start_seconds)
        yield server
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await server.gone()


class _Log:
    """The end of a process's output."""

    def __init__(self) -> None:
        self._kept = b""

    async def keep(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (more := await stream.read(_TAIL)):
            self._kept = (self._kept + more)[-_TAIL:]

    def tail(self) -> str:
        """The last lines, as they go on after a message."""
        lines = self._kept.decode(errors="replace").splitlines()[-_LINES:]
        return "".join(f"\n    {line}" for line in lines)


def _healthy(url: str) -> bool:
    try:
        with DIRECT.open(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def _how(code: int) -> str:
    """In words, how a process ended; by a signal if negative, or above 128 as shells and the keeper say it."""
    number = -code if code < 0 else code - 128
    known = number in set(signal.Signals)
    return f"was killed by {signal.Signals(number).name}" if known else f"ended with exit code {code}"
