"""A sandbox in a place, its snapshots, and the family that shares the place."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sandmle.closing import Closing
from sandmle.errors import InfraError
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._protocol import Origin, Snapshot
from sandmle.sandboxes.ray._calls import LostPlace, answer
from sandmle.sandboxes.ray._place import Method
from sandmle.sandboxes.ray._places import HiredPlace
from sandmle.trajectory import StepResult

__all__ = ["Family", "RaySandbox", "RaySnapshot"]

Leave = Callable[[HiredPlace, bool], Awaitable[None]]


class Family:
    """A sandbox with its forks and snapshots: who has a place, until the last of them is closed.

    Attributes:
        lost: the place is gone, and all with it.
    """

    def __init__(self, place: HiredPlace, leave: Leave) -> None:
        """Take over ``place``; ``leave`` is called with it, and whether it is lost, once nobody holds it."""
        self.lost = False
        self._place = place
        self._leave = leave
        self._holders = 0

    async def call(self, method: str, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the method returns
        """Call a method of ``Place``.

        Raises:
            LostPlace: it is gone.
            InfraError: Ray failed otherwise.
        """
        try:
            return await answer(getattr(self._place.actor, method).remote(*args, **options))
        except LostPlace:
            self.lost = True
            raise

    def hold(self) -> None:
        """Keep the place until one more ``release``."""
        self._holders += 1

    async def release(self, number: int) -> None:
        """Close what the place keeps under ``number``, and leave it if nobody else holds it.

        Raises:
            InfraError: something did not close; the place is left all the same.
        """
        try:
            with contextlib.suppress(LostPlace):
                await self.call("close", number)
        finally:
            self._holders -= 1
            if self._holders == 0:
                await self.leave()

    async def leave(self) -> None:
        """Clear the place and give it back; one that does not clear counts as lost, so that nobody else gets it.

        Raises:
            InfraError: it did not clear.
        """
        cleared = False
        try:
            with contextlib.suppress(LostPlace):
                await self.call("clear")
                cleared = True
        finally:
            self.lost |= not cleared
            await self._leave(self._place, self.lost)


class RaySandbox(Closing):
    """One sandbox; see ``Sandbox`` for what each method promises."""

    def __init__(self, family: Family, number: int, origin: Origin) -> None:
        """Take over what the family's place keeps under ``number``."""
        family.hold()
        self._family = family
        self._number = number
        self._origin: Origin = origin
        self._closed = False

    @property
    def origin(self) -> Origin:
        """How it came to its state."""
        return self._origin

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = (), seed: str | None = None) -> StepResult:
        """Run a script or cell.

        Raises:
            ValueError: ``timeout`` is not positive, an argument holds a NUL, or a cell is given arguments.
            InfraError: the sandbox or its machine failed.
        """
        result: StepResult = await self._use("run", code, timeout=timeout, args=tuple(args), seed=seed)
        return result

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or too large.
            InfraError: the sandbox or its machine failed.
        """
        data: bytes = await self._use("read", path, max_bytes=max_bytes)
        return data

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is full.
            InfraError: the sandbox or its machine failed.
        """
        await self._use("write", path, data)

    async def remove(self, path: str) -> None:
        """Remove whatever is at ``path``.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is an input.
            InfraError: the sandbox or its machine failed.
        """
        await self._use("remove", path)

    async def fork(self, n: int) -> list[RaySandbox]:
        """``n`` independent sandboxes in the present state, in the same place.

        Raises:
            ValueError: ``n`` is below 1.
            InfraError: they could not be made.
        """
        self._refuse_if_closed()
        children = await self._family.call("fork", self._number, n)
        return [RaySandbox(self._family, number, origin) for number, origin in children]

    async def snapshot(self) -> RaySnapshot:
        """Keep the present state in the place.

        Raises:
            InfraError: it could not be kept.
        """
        self._refuse_if_closed()
        return RaySnapshot(self._family, await self._family.call("snapshot", self._number))

    async def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that this sandbox or a relative once had.

        Raises:
            ValueError: the snapshot is closed or not of this family.
            InfraError: it could not be restored.
        """
        if not isinstance(snapshot, RaySnapshot) or snapshot.family is not self._family:
            raise ValueError("the snapshot is of another family of sandboxes")
        if snapshot.closed:
            raise ValueError("the snapshot is closed")
        self._refuse_if_closed()
        self._origin = await self._family.call("restore", self._number, snapshot.number)

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        if not self._closed:
            self._closed = True
            await finish(self._family.release(self._number))

    async def _use(self, method: Method, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - the method's result
        self._refuse_if_closed()
        result, self._origin = await self._family.call("use", self._number, method, *args, **options)
        return result

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise InfraError("the sandbox is closed")


class RaySnapshot(Closing):
    """A state that the family's place keeps until it is closed.

    Attributes:
        family: the same object for all sandboxes that may restore it.
        number: under which it is kept.
        closed: whether it has been dropped.
    """

    def __init__(self, family: Family, number: int) -> None:
        """Take over what the place keeps under ``number``."""
        family.hold()
        self.family = family
        self.number = number
        self.closed = False

    async def aclose(self) -> None:
        """Drop the state."""
        if not self.closed:
            self.closed = True
            await finish(self.family.release(self.number))
