"""One sandbox of the local backend: its steps, its files, and its forks.

With namespaces a fork is a branch of the same processes and folders: see ``_guest.branch``. Elsewhere, and where a
state can't be forked, it is a new sandbox in which the parent's steps are run again; scripts leave no state but the
workspace, which is copied.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sandmle.closing import Closing
from sandmle.errors import InfraError
from sandmle.sandboxes._body import Body, Done, LocalSnapshot
from sandmle.sandboxes._channel import Channel, Unforkable
from sandmle.sandboxes._files import path_inside, raise_fault
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._frozen import Frozen
from sandmle.sandboxes._protocol import ForkKind, Origin, SandboxSpec, Snapshot
from sandmle.sandboxes._slots import Slots
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["LocalSandbox"]

_GRACE_S = 30.0
_FILE_S = 120.0
_MOST_GENERATIONS = 24
"""The kernel nests namespaces 32 deep, and we may be in some already."""
_log = logging.getLogger("sandmle.sandboxes")


class LocalSandbox(Closing):
    """One sandbox of the local backend; see ``Sandbox`` for what each method promises."""

    def __init__(
        self,
        body: Body,
        make: Callable[[], Awaitable[Body]],
        tier: IsolationTier,
        spec: SandboxSpec,
        slots: Slots,
        fork: ForkKind,
    ) -> None:
        """Take over ``body``; ``make`` makes another that is empty; ``fork`` is how this machine forks sandboxes."""
        self._body = body
        self._make = make
        self._tier = tier
        self._spec = spec
        self._slots = slots
        self._fork = fork
        self._origin: Origin = "created"
        self._family = object()
        self._done: tuple[Done, ...] = ()
        self._children = 0
        self._diverge: tuple[int, ...] = ()
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def origin(self) -> Origin:
        """How it came to its state."""
        return self._origin

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = (), seed: str | None = None) -> StepResult:
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
        request: dict[str, Any] = {"op": "run", "timeout": timeout, "args": list(args), "seed": seed}
        async with self._turn, self._slots.take(self._spec.limits.cpus) as request["cores"]:
            request["diverge"], self._diverge = self._diverge, ()
            answer, _ = await self._change(request, code.encode("utf-8", "surrogatepass"), timeout + _GRACE_S)
        return StepResult(**{name: value for name, value in answer.items() if name != "id"}, tier=self._tier)

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or too large.
        """
        request = {"op": "read", "path": path_inside(path), "max_bytes": max_bytes}
        async with self._turn:
            return _unwrap(*await self._ask(request, b"", _FILE_S))

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is full.
        """
        async with self._turn:
            _unwrap(*await self._change({"op": "write", "path": path_inside(path)}, data, _FILE_S))

    async def remove(self, path: str) -> None:
        """Remove whatever is at ``path``.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is an input.
        """
        async with self._turn:
            _unwrap(*await self._change({"op": "remove", "path": path_inside(path)}, b"", _FILE_S))

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
            frozen = await self._freeze()
            try:
                workspace = b"" if frozen else await self._copy()
                for _ in range(n):
                    children.append(await self._child(frozen, workspace))
            except BaseException:
                await finish(_close_all(children))
                raise
            finally:
                self._body.start()
                if frozen is not None:
                    frozen.unwant()
                    await finish(frozen.release())
        return children

    async def snapshot(self) -> LocalSnapshot:
        """Keep the present state.

        Raises:
            InfraError: it could not be kept.
        """
        async with self._turn:
            frozen = await self._freeze()
            workspace = b"" if frozen else await self._copy()
            snapshot = LocalSnapshot(self._family, self._done, self._diverge, frozen, workspace)
            self._body.start()
        return snapshot

    async def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that this sandbox or a relative once had.

        Raises:
            ValueError: the snapshot is closed or not of this family.
            InfraError: it could not be restored.
        """
        if not isinstance(snapshot, LocalSnapshot) or snapshot.family is not self._family:
            raise ValueError("the snapshot is of another family of sandboxes")
        async with self._turn:
            if snapshot.closed:
                raise ValueError("the snapshot is closed")
            self._refuse_if_closed()
            if snapshot.frozen is not None:
                self._done, self._diverge = snapshot.done, snapshot.diverge
                await self._become(Body.go_on(snapshot.frozen))
                return
            body = await self._replay(snapshot.done, snapshot.workspace)
            self._done, self._diverge, self._origin = snapshot.done, snapshot.diverge, "replayed"
            await self._become(body)

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        self._closed = True
        await self._body.aclose()

    async def _freeze(self) -> Frozen | None:
        """Freeze what runs, and go on in a branch of it; None, and a warning, if the state can't be forked.

        Returns:
            what is frozen; wanted.
        """
        self._refuse_if_closed()
        obstacle = self._obstacle() or await finish(self._branch_off(await self._reach()))
        if obstacle:
            self._warn(obstacle)
            return None
        assert self._body.parent is not None
        return self._body.parent.want()

    async def _branch_off(self, channel: Channel) -> str:
        """Freeze what runs and go on in a branch of it; why not, if not."""
        obstacle = await channel.freeze()
        self._refuse_if_closed()
        if not obstacle:
            self._body = Body.go_on(Frozen(channel, self._body.parent))
        return obstacle

    async def _become(self, body: Body) -> None:
        if self._closed:
            await body.aclose()
        self._refuse_if_closed()
        old, self._body = self._body, body
        await old.aclose()

    def _obstacle(self) -> str:
        parent = self._body.parent
        if self._fork != "process":
            return "this machine offers no namespaces, or can't fork them"
        if parent is not None and parent.depth >= _MOST_GENERATIONS:
            return f"it is the {_MOST_GENERATIONS}th generation, and the kernel nests no deeper"
        return ""

    def _warn(self, obstacle: str) -> None:
        way = "its cells are run again" if self._spec.stateful else "its workspace is copied"
        _log.warning("the sandbox can't be forked (%s): %s", obstacle, way)

    async def _child(self, frozen: Frozen | None, workspace: bytes) -> LocalSandbox:
        self._children += 1
        if frozen is not None:
            try:
                return self._relative(Body(await frozen.branch(self._children), frozen.hold()), "forked")
            except Unforkable as error:
                self._warn(str(error))
        child = self._relative(await self._replay(self._done, workspace), "replayed")
        child._diverge = (*self._diverge, self._children)
        return child

    async def _reach(self) -> Channel:
        """The way to the init; of a state that turns out not to go on, it is a replay's."""
        try:
            return await self._body.reach()
        except Unforkable as error:
            self._warn(str(error))
        body, self._origin = await self._replay(self._done, b""), "replayed"
        await self._become(body)
        return await body.reach()

    async def _copy(self) -> bytes:
        """The workspace; nothing of a stateful sandbox, whose cells make it again."""
        if self._spec.stateful:
            return b""
        return _unwrap(*await self._ask({"op": "pack", "path": "", "but": list(self._spec.inputs)}, b"", _FILE_S))

    async def _replay(self, done: tuple[Done, ...], workspace: bytes) -> Body:
        body = await self._make()
        try:
            for request, data, limit in done:
                self._refuse_if_closed()
                async with self._slots.take(self._spec.limits.cpus) as cores:
                    await (await body.reach()).ask({**request, "cores": cores}, data, limit)
            if workspace:
                _unwrap(*await (await body.reach()).ask({"op": "unpack", "path": ""}, workspace, _FILE_S))
        except BaseException:
            await body.aclose()
            raise
        return body

    def _relative(self, body: Body, origin: Origin) -> LocalSandbox:
        child = LocalSandbox(body, self._make, self._tier, self._spec, self._slots, self._fork)
        child._origin, child._family, child._done = origin, self._family, self._done
        child._diverge = self._diverge
        return child

    async def _change(self, request: dict[str, Any], data: bytes, limit: float) -> tuple[dict[str, Any], bytes]:
        """Ask for something that changes the state."""
        if self._spec.stateful:
            self._done += (Done(request, data, limit),)
        return await self._ask(request, data, limit)

    async def _ask(self, request: dict[str, Any], data: bytes, limit: float) -> tuple[dict[str, Any], bytes]:
        self._refuse_if_closed()
        channel = await self._reach()
        self._refuse_if_closed()
        return await channel.ask(request, data, limit)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise InfraError("the sandbox is closed")


async def _close_all(sandboxes: list[LocalSandbox]) -> None:
    await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))


def _unwrap(answer: dict[str, Any], found: bytes) -> bytes:
    """The bytes that came with an answer about files, if it tells of no fault."""
    raise_fault(answer)
    return found
