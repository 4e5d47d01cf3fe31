"""The one protocol that every sandbox backend speaks.

A sandbox knows no task: it is given read-only inputs, runs code in ``/workspace`` and hands files back.

    backend.create(SandboxSpec) -> Sandbox        run, read, write, aclose

Whatever goes wrong inside is a ``StepResult``; whatever goes wrong on our side is an ``InfraError``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field

from sandmle.record import Record
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["WORKSPACE", "Capabilities", "Sandbox", "SandboxBackend", "SandboxLimits", "SandboxSpec"]

WORKSPACE = "/workspace"
"""Where code runs, whatever the backend: the only path an agent ever learns."""


class SandboxLimits(Record):
    """What code inside may use.

    Attributes:
        memory_mib: memory of one step's processes together where the machine has cgroups, else of each process.
        processes: processes and threads at once.
        file_mib: size of any one file.
        workspace_mib: size of the whole workspace, where it can be bounded.
        output_bytes: head and tail of a step's output that are kept, together.
    """

    memory_mib: Annotated[int, Field(gt=0)] = 4096
    processes: Annotated[int, Field(gt=0)] = 256
    file_mib: Annotated[int, Field(gt=0)] = 512
    workspace_mib: Annotated[int, Field(gt=0)] = 1024
    output_bytes: Annotated[int, Field(gt=0)] = 20_000


class SandboxSpec(Record):
    """What one sandbox is made of.

    Attributes:
        inputs: read-only mounts, path relative to ``/workspace`` (such as ``input``) to the host folder or file.
        env: variables the code sees, on top of a small fixed set; nothing else of ours is passed on.
        image: name of the set of libraries; ``base`` is numpy, pandas, scikit-learn, lightgbm.
        network: always False today: code inside reaches no network.
    """

    inputs: Mapping[str, Path] = Field(default_factory=lambda: MappingProxyType({}))
    env: Mapping[str, str] = Field(default_factory=lambda: MappingProxyType({}))
    limits: SandboxLimits = SandboxLimits()
    image: Literal["base"] = "base"
    network: Literal[False] = False


class Capabilities(Record):
    """What a backend really offers on this machine: the tier is proven by a canary, not assumed."""

    tier: IsolationTier
    detail: str


class Sandbox(Protocol):
    """A private workspace in which code runs one step at a time."""

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = ()) -> StepResult:
        """Run ``code`` as a Python script in ``/workspace`` with ``sys.argv[1:] == args``.

        On timeout the whole process tree is killed and confirmed gone before this returns.

        Args:
            code: the script.
            timeout: wall seconds, > 0.
            args: command-line arguments.

        Raises:
            InfraError: the sandbox itself failed.
        """
        ...

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace without following links, with the rights of the code inside.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or larger than ``max_bytes``.
        """
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace (parents made), replacing what is there without following links."""
        ...

    async def remove(self, path: str) -> None:
        """Remove whatever ``path`` is (file, link, folder), if it is there."""
        ...

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace; safe to call twice."""
        ...

    async def __aenter__(self) -> Self:
        """The sandbox itself."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sandbox."""
        ...


class SandboxBackend(Protocol):
    """Makes sandboxes of one kind; holds the limit on steps running at once."""

    @property
    def capabilities(self) -> Capabilities:
        """What this backend offers here."""
        ...

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Make a sandbox.

        Raises:
            InfraError: it could not be made.
        """
        ...

    async def aclose(self) -> None:
        """Stop whatever the backend keeps ready between sandboxes; a later ``create`` starts it again."""
        ...
