"""One sandbox of the local backend: its steps, its files, and its forks.

With namespaces a fork is a branch of the same processes and folders: see ``_guest.branch``. Elsewhere, and where a
state can't be forked, it is a new sandbox in which the parent's steps are run again; scripts leave no state but the
workspace, which is copied.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, NamedTuple, Self

from sandmle.errors import InfraError
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._frozen import Frozen
from sandmle.sandboxes._guest.removal import remove_folder
from sandmle.sandboxes._protocol import Origin, SandboxSpec, Snapshot
from sandmle.sandboxes._slots import Slots
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["Body", "LocalSandbox"]

_GRACE_S = 30.0
_FILE_S = 120.0
_MOST_GENERATIONS = 24
"""The kernel nests namespaces 32 deep, and we may be in some already."""
_log = logging.getLogger("sandmle.sandboxes")


class Body:
    """What a sandbox consists of, which ``restore`` exchanges.

    Attributes:
        channel: the way to its init; None for a branch that nothing has been asked of yet.
        parent: the frozen sandbox that it is a branch of, if it is one; held.
    """

    def __init__(self, channel: Channel | None, parent: Frozen | None = None, folder: Path | None = None) -> None:
        """Take over ``folder``, which only sandboxes without namespaces have."""
        self.channel = channel
        self.parent = parent
        self._folder = folder

    async def reach(self) -> Channel:
        """The way to its init, made if need be.

        Raises:
            InfraError: the branch could not be made.
        """
        if self.channel is None:
            assert self.parent is not None
            self.channel = await self.parent.go_on()
        return self.channel

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        try:
            if self.channel is not None:
                await self.channel.close()
        finally:
            if self.parent is not None:
                await self.parent.release()
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove_folder, str(self._folder))


class _Done(NamedTuple):
    """Something that changed a stateful sandbox, to be done again in a replay."""

    request: dict[str, Any]
    data: bytes
    limit: float


class LocalSnapshot:
    """See ``Snapshot``: a frozen sandbox, or what it takes to come to the same state again."""

    def __init__(self, family: object, done: tuple[_Done, ...], frozen: Frozen | None, workspace: bytes) -> None:
        """Keep ``frozen``, which is held, or else the steps ``done`` and, of scripts, the ``workspace``."""
        self.family = family
        self.done = done
        self.frozen = frozen
        self.workspace = workspace
        self.closed = False

    async def aclose(self) -> None:
        """Drop the state."""
        if not self.closed:
            self.closed = True
            if self.frozen is not None:
                await self.frozen.release()

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the snapshot."""
        await self.aclose()


class LocalSandbox:
    """One sandbox of the local backend; see ``Sandbox`` for what each method promises."""

    def __init__(
        self,
        body: Body,
        make: Callable[[], Awaitable[Body]],
        tier: IsolationTier,
        spec: SandboxSpec,
        slots: Slots,
    ) -> None:
        """Take over ``body``; ``make`` makes another that is empty."""
        self._body = body
        self._make = make
        self._tier = tier
        self._spec = spec
        self._slots = slots
        self._origin: Origin = "created"
        self._family = object()
        self._done: tuple[_Done, ...] = ()
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def origin(self) -> Origin:
        """How it came to its state."""
        return self._origin

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = ()) -> StepResult:
        """Run a script or cell.

        Raises:
            ValueError: ``timeout`` is not positive, an argument holds a NUL, or a cell is given arguments.
            InfraError: the sandbox itself failed.
        """
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        if any("\0" in argument for argument in args):
            raise ValueError("an argument holds a NUL character")
        if args and self._spec.stateful:
            raise ValueError("a cell has no arguments")
        request: dict[str, Any] = {"op": "run", "timeout": timeout, "args": list(args)}
        async with self._turn, self._slots.take(self._spec.limits.cpus) as request["cores"]:
            answer, _ = await self._change(request, code.encode("utf-8", "surrogatepass"), timeout + _GRACE_S)
        return StepResult(**{name: value for name, value in answer.items() if name != "id"}, tier=self._tier)

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or too large.
        """
        request = {"op": "read", "path": _relative(path), "max_bytes": max_bytes}
        async with self._turn:
            return _unwrap(*await self._ask(request, b"", _FILE_S))

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is full.
        """
        async with self._turn:
            _unwrap(*await self._change({"op": "write", "path": _relative(path)}, data, _FILE_S))

    async def remove(self, path: str) -> None:
        """Remove whatever is at ``path``.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is an input.
        """
        async with self._turn:
            _unwrap(*await self._change({"op": "remove", "path": _relative(path)}, b"", _FILE_S))

    async def fork(self, n: int) -> list[LocalSandbox]:
        """``n`` independent sandboxes in the present state.

        Raises:
            ValueError: ``n`` is below 1.
            InfraError: they could not be made.
        """
        if n < 1:
            raise ValueError(f"a fork makes at least 1 sandbox, not {n}")
        children: list[LocalSandbox] = []
        async with self._turn:
            try:
                frozen = await self._freeze()
                workspace = b"" if frozen else await self._copy()
                for _ in range(n):
                    body = await (_branch(frozen) if frozen else self._replay(self._done, workspace))
                    children.append(self._relative(body, "forked" if frozen else "replayed"))
            except BaseException:
                await asyncio.gather(*(child.aclose() for child in children))
                raise
        return children

    async def snapshot(self) -> LocalSnapshot:
        """Keep the present state.

        Raises:
            InfraError: it could not be kept.
        """
        async with self._turn:
            frozen = await self._freeze()
            workspace = b"" if frozen else await self._copy()
        return LocalSnapshot(self._family, self._done, frozen.hold() if frozen else None, workspace)

    async def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that this sandbox or a relative once had.

        Raises:
            ValueError: the snapshot is closed or not of this family.
            InfraError: it could not be restored.
        """
        if not isinstance(snapshot, LocalSnapshot) or snapshot.family is not self._family:
            raise ValueError("the snapshot is of another family of sandboxes")
        if snapshot.closed:
            raise ValueError("the snapshot is closed")
        async with self._turn:
            if self._closed:
                raise InfraError("the sandbox is closed")
            frozen = snapshot.frozen
            body = Body(None, frozen.hold()) if frozen else await self._replay(snapshot.done, snapshot.workspace)
            old, self._body, self._done = self._body, body, snapshot.done
            self._origin = self._origin if frozen else "replayed"
            await old.aclose()

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        if not self._closed:
            self._closed = True
            await self._body.aclose()

    async def __aenter__(self) -> Self:
        """The sandbox itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sandbox."""
        await self.aclose()

    async def _freeze(self) -> Frozen | None:
        """Freeze what runs, to go on in a branch of it; None, and a warning, if the state can't be forked."""
        if self._closed:
            raise InfraError("the sandbox is closed")
        parent = self._body.parent
        if parent is not None and self._body.channel is None:
            return parent
        obstacle = self._obstacle(parent) or await self._freeze_body(await self._body.reach())
        if obstacle:
            way = "its cells are run again" if self._spec.stateful else "its workspace is copied"
            _log.warning("the sandbox can't be forked (%s): %s", obstacle, way)
            return None
        return self._body.parent

    def _obstacle(self, parent: Frozen | None) -> str:
        if self._tier not in ("A", "B"):
            return "this machine offers no namespaces"
        if parent is not None and parent.depth >= _MOST_GENERATIONS:
            return f"it is the {_MOST_GENERATIONS}th generation, and the kernel nests no deeper"
        return ""

    async def _freeze_body(self, channel: Channel) -> str:
        """Freeze what runs, even if cancelled meanwhile; why it can't be, if so."""

        async def freeze() -> str:
            obstacle = await channel.freeze()
            if not obstacle:
                self._body = Body(None, Frozen(channel, self._body.parent).hold())
            return obstacle

        freezing = asyncio.create_task(freeze())
        try:
            return await asyncio.shield(freezing)
        finally:
            await asyncio.wait({freezing})

    async def _copy(self) -> bytes:
        """The workspace; nothing of a stateful sandbox, whose cells make it again."""
        if self._spec.stateful:
            return b""
        return _unwrap(*await self._ask({"op": "pack", "path": "", "but": list(self._spec.inputs)}, b"", _FILE_S))

    async def _replay(self, done: tuple[_Done, ...], workspace: bytes) -> Body:
        body = await self._make()
        try:
            for request, data, limit in done:
                async with self._slots.take(self._spec.limits.cpus) as cores:
                    await (await body.reach()).ask({**request, "cores": cores}, data, limit)
            if workspace:
                _unwrap(*await (await body.reach()).ask({"op": "unpack", "path": ""}, workspace, _FILE_S))
        except BaseException:
            await body.aclose()
            raise
        return body

    def _relative(self, body: Body, origin: Origin) -> LocalSandbox:
        child = LocalSandbox(body, self._make, self._tier, self._spec, self._slots)
        child._origin, child._family, child._done = origin, self._family, self._done
        return child

    async def _change(self, request: dict[str, Any], data: bytes, limit: float) -> tuple[dict[str, Any], bytes]:
        """Ask for something that changes the state."""
        if self._spec.stateful:
            self._done += (_Done(request, data, limit),)
        return await self._ask(request, data, limit)

    async def _ask(self, request: dict[str, Any], data: bytes, limit: float) -> tuple[dict[str, Any], bytes]:
        if self._closed:
            raise InfraError("the sandbox is closed")
        return await (await self._body.reach()).ask(request, data, limit)


async def _branch(frozen: Frozen) -> Body:
    return Body(await frozen.branch(), frozen.hold())


def _unwrap(answer: dict[str, Any], found: bytes) -> bytes:
    """The bytes that came with an answer about files, or the exception that it tells of."""
    kind = answer.get("error")
    if kind == "missing":
        raise FileNotFoundError(answer["message"])
    if kind == "refused":
        raise ValueError(answer["message"])
    if kind == "system":
        raise OSError(answer["errno"], answer["message"])
    return found


def _relative(path: str) -> str:
    """The path in its plain form, relative to the workspace.

    Raises:
        ValueError: it is empty, absolute, or has a ``..``.
    """
    plain = PurePosixPath(path)
    if not plain.parts or plain.is_absolute() or ".." in plain.parts or "\0" in path:
        raise ValueError(f"{path!r}: not a path inside the workspace")
    return plain.as_posix()
