"""A sandbox that is a machine of E2B, and its snapshots."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

from sandmle.closing import Closing
from sandmle.errors import InfraError
from sandmle.sandboxes._files import path_inside, raise_fault
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._protocol import Origin, SandboxSpec, Snapshot
from sandmle.sandboxes.e2b._machine import Machine
from sandmle.sandboxes.e2b._service import Service
from sandmle.trajectory import StepResult

__all__ = ["E2BSandbox", "E2BSnapshot"]

_GRACE_S = 30.0
_FILE_S = 120.0


class E2BSandbox(Closing):
    """One sandbox; see ``Sandbox`` for what each method promises. A fork or snapshot copies the whole machine."""

    def __init__(self, machine: Machine, service: Service, spec: SandboxSpec, slots: asyncio.Semaphore) -> None:
        """Take over ``machine``, which is set up for ``spec``."""
        self._machine = machine
        self._service = service
        self._spec = spec
        self._slots = slots
        self._origin: Origin = "created"
        self._family = object()
        self._cells = 0
        self._diverge: tuple[int, ...] = ()
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def origin(self) -> Origin:
        """How it came to its state; E2B replays nothing."""
        return self._origin

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = (), seed: str | None = None) -> StepResult:
        """Run a script or cell.

        Raises:
            ValueError: ``timeout`` is not positive, an argument holds a NUL, or a cell is given arguments.
            InfraError: the machine or the way to it failed.
        """
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        if any("\0" in argument for argument in args):
            raise ValueError("an argument holds a NUL character")
        if args and self._spec.stateful:
            raise ValueError("a cell has no arguments")
        async with self._turn, self._slots:
            self._cells += 1
            request = {"code": code, "args": list(args), "timeout": timeout, "cell": self._cells, "seed": seed}
            answer = await self._call("run", {**request, "diverge": self._diverge}, timeout + _GRACE_S)
            self._diverge = ()
        return StepResult(**answer, tier="vm")

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or too large.
            InfraError: the machine or the way to it failed.
        """
        return await self._file("read", {"path": path_inside(path), "max_bytes": max_bytes})

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is full.
            InfraError: the machine or the way to it failed.
        """
        await self._file("write", {"path": path_inside(path), "data": base64.b64encode(data).decode()})

    async def remove(self, path: str) -> None:
        """Remove whatever is at ``path``.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is an input.
            InfraError: the machine or the way to it failed.
        """
        await self._file("remove", {"path": path_inside(path)})

    async def fork(self, n: int) -> list[E2BSandbox]:
        """``n`` copies of the machine.

        Raises:
            ValueError: ``n`` is below 1.
            InfraError: they could not be made; none is left then.
        """
        if n < 1:
            raise ValueError(f"a fork makes at least 1 sandbox, not {n}")
        async with self._turn:
            self._refuse_if_closed()
            machines = await self._service.fork(self._machine, n)
        return [self._relative(machine, index) for index, machine in enumerate(machines, start=1)]

    async def snapshot(self) -> E2BSnapshot:
        """Keep the machine's state at E2B.

        Raises:
            InfraError: it could not be kept.
        """
        async with self._turn:
            self._refuse_if_closed()
            template = await self._service.keep(self._machine)
        return E2BSnapshot(template, self._service, self._family, self._cells, self._diverge)

    async def restore(self, snapshot: Snapshot) -> None:
        """Go on in a new machine started from the snapshot; the one so far is taken down.

        Raises:
            ValueError: the snapshot is closed or not of this family.
            InfraError: it could not be restored.
        """
        if not isinstance(snapshot, E2BSnapshot) or snapshot.family is not self._family:
            raise ValueError("the snapshot is of another family of sandboxes")
        async with self._turn:
            if snapshot.closed:
                raise ValueError("the snapshot is closed")
            self._refuse_if_closed()
            machine = await self._service.start(snapshot.template, first_number=self._machine.next_number)
            if self._closed:
                await finish(self._service.stop(machine))
            self._refuse_if_closed()
            old, self._machine = self._machine, machine
            self._cells, self._diverge = snapshot.cells, snapshot.diverge
            await finish(self._service.stop(old))

    async def aclose(self) -> None:
        """Take the machine down."""
        if not self._closed:
            self._closed = True
            await finish(self._service.stop(self._machine))

    def _relative(self, machine: Machine, index: int) -> E2BSandbox:
        child = E2BSandbox(machine, self._service, self._spec, self._slots)
        child._origin, child._family, child._cells = "forked", self._family, self._cells
        child._diverge = (*self._diverge, index)
        return child

    async def _file(self, op: str, request: dict[str, Any]) -> bytes:
        async with self._turn:
            answer = await self._call(op, request, _FILE_S)
        raise_fault(answer)
        return base64.b64decode(answer["data"])

    async def _call(self, op: str, request: dict[str, Any], limit: float) -> dict[str, Any]:
        self._refuse_if_closed()
        return await self._machine.call(op, request, limit)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise InfraError("the sandbox is closed")


class E2BSnapshot(Closing):
    """A machine's state kept at E2B, which lasts, and costs, until it is closed.

    Attributes:
        template: its id at E2B.
        family: the same object for all sandboxes that may restore it.
        cells: how many cells had been run.
        diverge: what was still to be told to the generators of that machine.
        closed: whether it has been dropped.
    """

    def __init__(self, template: str, service: Service, family: object, cells: int, diverge: tuple[int, ...]) -> None:
        """Hold the kept state ``template``."""
        self.template = template
        self.family = family
        self.cells = cells
        self.diverge = diverge
        self.closed = False
        self._service = service

    async def aclose(self) -> None:
        """Drop the state at E2B."""
        if not self.closed:
            self.closed = True
            await finish(self._service.drop(self.template))
