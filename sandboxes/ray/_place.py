"""The actor: a local backend on one of the cluster's machines, and the sandbox family that has it at present."""

from __future__ import annotations

import asyncio
import io
import itertools
import os
from pathlib import Path
from typing import Any, Literal

from sandmle.record import Record
from sandmle.sandboxes._body import LocalSnapshot
from sandmle.sandboxes._inputs import unpack_inputs
from sandmle.sandboxes._local import LocalBackend
from sandmle.sandboxes._protocol import Capabilities, Origin, SandboxSpec
from sandmle.sandboxes._sandbox import LocalSandbox
from sandmle.sandboxes.ray._claims import ClaimedFolder, claim_cores

__all__ = ["Arrival", "Method", "Place"]

Method = Literal["run", "read", "write", "remove"]


class Arrival(Record):
    """What a place tells about itself when it is ready.

    Attributes:
        node: the name of its machine.
        capabilities: what its machine was proven to offer.
    """

    node: str
    capabilities: Capabilities


class Place:
    """Keeps sandboxes and snapshots under numbers; the caller is one ``Family`` at a time."""

    def __init__(self, cpus: int, python: Path | None, allow_unisolated: bool) -> None:
        """Set up; ``cpus`` is what the actor has reserved."""
        import ray

        gpus = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
        self._backend = LocalBackend(
            concurrency=1,
            allow_unisolated=allow_unisolated,
            python=python,
            gpus=tuple(gpus),
            cores=claim_cores(cpus),
        )
        self._folder: ClaimedFolder | None = None
        self._sandboxes: dict[int, LocalSandbox] = {}
        self._snapshots: dict[int, LocalSnapshot] = {}
        self._numbers = itertools.count()

    async def arrive(self) -> Arrival:
        """Prove the machine's tier, and warm up."""
        found = await asyncio.to_thread(lambda: self._backend.capabilities)
        return Arrival(node=os.uname().nodename, capabilities=found)

    async def create(self, fields: dict[str, Any], archive: bytes) -> int:
        """Make the first sandbox of a family, from its spec's fields, whose inputs are in a tar by their targets."""
        inputs = {}
        if fields["inputs"]:
            self._folder = await asyncio.to_thread(ClaimedFolder)
            await asyncio.to_thread(unpack_inputs, io.BytesIO(archive), self._folder.path)
            inputs = {target: self._folder.path / target for target in fields["inputs"]}
        return self._keep(await self._backend.create(SandboxSpec(**{**fields, "inputs": inputs})))

    async def use(self, number: int, method: Method, *args: Any, **options: Any) -> tuple[Any, Origin]:  # noqa: ANN401
        """Call a method of a sandbox.

        Returns:
            its result, and the sandbox's origin, which a replay may have changed.
        """
        sandbox = self._sandboxes[number]
        return await getattr(sandbox, method)(*args, **options), sandbox.origin

    async def fork(self, number: int, n: int) -> list[tuple[int, Origin]]:
        """Fork a sandbox; numbers and origins of the children."""
        return [(self._keep(child), child.origin) for child in await self._sandboxes[number].fork(n)]

    async def snapshot(self, number: int) -> int:
        """Keep a sandbox's state; the snapshot's number."""
        snapshot = await self._sandboxes[number].snapshot()
        kept = next(self._numbers)
        self._snapshots[kept] = snapshot
        return kept

    async def restore(self, number: int, snapshot: int) -> Origin:
        """Take a sandbox back to a snapshot."""
        sandbox = self._sandboxes[number]
        await sandbox.restore(self._snapshots[snapshot])
        return sandbox.origin

    async def close(self, number: int) -> None:
        """Close a sandbox or snapshot, if it is still there."""
        for kept in (self._sandboxes.pop(number, None), self._snapshots.pop(number, None)):
            if kept is not None:
                await kept.aclose()

    async def clear(self) -> None:
        """Make room for the next family: close what is left of this one, and remove its inputs."""
        for number in [*self._sandboxes, *self._snapshots]:
            await self.close(number)
        if self._folder is not None:
            await asyncio.to_thread(self._folder.remove)
            self._folder = None

    def _keep(self, sandbox: LocalSandbox) -> int:
        number = next(self._numbers)
        self._sandboxes[number] = sandbox
        return number
