"""One machine of E2B, and the way to have it do requests.

The machine would be taken down at the end of its time to live; a heartbeat renews that as long as the machine is held.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sandmle.errors import SandmleError
from sandmle.sandboxes.e2b._faults import E2BFault, Patience
from sandmle.sandboxes.e2b._guest import PROGRAM, UPLOADS

if TYPE_CHECKING:
    from e2b import AsyncSandbox, CommandExitException

__all__ = ["Machine"]

T = TypeVar("T")

_log = logging.getLogger("sandmle.sandboxes")

_ENTRY = f'import sys; sys.path.insert(0, "{PROGRAM}"); from sandboxes.e2b._guest.request import main; main()'
_INLINE = 80_000
"""Bytes of a request that still fit on a command line (128 KiB in Linux) once in base64."""
_MARGIN_S = 20.0
_CANCEL_S = 30.0


class Machine:
    """A running machine. All of it belongs to one event loop."""

    def __init__(self, remote: AsyncSandbox, patience: Patience, ttl_s: int, first_number: int = 0) -> None:
        """Hold ``remote`` and renew its time to live of ``ttl_s`` seconds; number requests from ``first_number``."""
        self.next_number = first_number
        self._remote = remote
        self._patience = patience
        self._ttl_s = ttl_s
        self._killed = False
        self._heartbeat = asyncio.create_task(self._renew())

    async def upload(self, path: str, data: bytes | Path) -> None:
        """Write a file, given as its bytes or as a file of this machine, as root.

        Raises:
            E2BFault: it could not be written.
        """

        async def attempt() -> None:
            with io.BytesIO(data) if isinstance(data, bytes) else data.open("rb") as stream:
                await self._remote.files.write(path, stream, user="root")

        await self._keep_trying("uploading", attempt)

    async def call(self, op: str, request: dict[str, Any], limit: float, *, before: str = "") -> dict[str, Any]:
        """Have a request done, exactly once however often the connection breaks.

        Args:
            op: what to do.
            request: the rest of the request.
            limit: seconds after which the machine itself gives up.
            before: shell commands to run first, which must bear being run again.

        Raises:
            E2BFault: it was not done, or nobody can tell.
        """
        number, self.next_number = self.next_number, self.next_number + 1
        try:
            return await self._call(number, {"op": op, **request}, limit, before)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(self._cancel(number)))
            raise

    async def fork(self, count: int) -> list[AsyncSandbox | Exception]:
        """Copy the machine, at most 20 times.

        Raises:
            E2BFault: there is no copy at all.
        """
        return await self._keep_trying("forking", lambda: self._remote.fork(timeout=self._ttl_s, count=count))

    async def snapshot(self) -> str:
        """Keep the machine's state.

        Returns:
            the id of a template from which it can be started again.

        Raises:
            E2BFault: it could not be kept.
        """
        return (await self._keep_trying("making a snapshot", self._remote.create_snapshot)).snapshot_id

    async def kill(self) -> None:
        """Take the machine down; safe to call twice."""
        if self._killed:
            return
        self._killed = True
        self._heartbeat.cancel()
        try:
            await self._keep_trying("killing", self._remote.kill)
        except SandmleError as error:
            _log.warning("%s; it ends by itself within %d s", error, self._ttl_s)

    async def _call(self, number: int, request: dict[str, Any], limit: float, before: str) -> dict[str, Any]:
        body = json.dumps(request).encode()
        inline = len(body) <= _INLINE
        if not inline:
            await self.upload(f"{UPLOADS}/{number}", body)
        argument = base64.b64encode(body).decode() if inline else "-"
        command = f"{before}exec timeout -s KILL {limit:.3f} python3 -I -c '{_ENTRY}' {number} {argument}"
        answer = await self._keep_trying(request["op"], lambda: self._command(command, limit))
        if "file" in answer:
            path = answer["file"]
            read = await self._keep_trying(
                "downloading", lambda: self._remote.files.read(path, format="bytes", user="root")
            )
            answer = json.loads(read)
        if "problem" in answer:
            raise E2BFault("other", f"E2B: {request['op']}: {answer['problem']}")
        return answer

    async def _command(self, command: str, limit: float) -> dict[str, Any]:
        from e2b import CommandExitException

        try:
            async with asyncio.timeout(limit + 2 * _MARGIN_S):
                done = await self._remote.commands.run(command, user="root", cwd="/", timeout=limit + _MARGIN_S)
            answer = json.loads(done.stdout)
        except CommandExitException as error:
            raise E2BFault("other", f"the program in the machine failed: {_last(error)}") from error
        except ValueError as error:
            raise E2BFault("broken", f"the machine's answer is cut short: {error}") from error
        assert isinstance(answer, dict)
        return answer

    async def _cancel(self, number: int) -> None:
        """End a request that nobody waits for any more; a machine that can't be reached is killed instead."""
        own, self.next_number = self.next_number, self.next_number + 1
        try:
            async with asyncio.timeout(_CANCEL_S):
                await self._call(own, {"op": "cancel", "number": number}, _CANCEL_S, "")
        except (SandmleError, TimeoutError):
            await self.kill()

    async def _renew(self) -> None:
        """The heartbeat."""
        while True:
            await asyncio.sleep(self._ttl_s / 3)
            try:
                await self._patience.keep_trying("renewing", lambda: self._remote.set_timeout(self._ttl_s))
            except E2BFault as fault:
                _log.warning("%s", fault)
                if fault.kind == "gone":
                    return
            except SandmleError as error:
                _log.warning("%s", error)

    async def _keep_trying(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        return await self._patience.keep_trying(what, attempt)


def _last(error: CommandExitException) -> str:
    """How a command ended, with its last line."""
    return f"exit code {error.exit_code}, {error.stderr.strip().rpartition(chr(10))[2][-300:]}"
