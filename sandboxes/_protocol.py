"""The one protocol that every sandbox backend speaks.

A sandbox knows no task: it is given read-only inputs, runs code in ``/workspace`` and hands files back.

    backend.create(SandboxSpec) -> Sandbox        run, read, write, remove, fork, snapshot, restore, aclose

Whatever goes wrong inside is a ``StepResult``; whatever goes wrong on our side is an ``InfraError``.

A sandbox runs *scripts*, each in a new process that knows nothing of the one before, or, where its spec says
``stateful``, *cells* that share the variables of one interpreter. What a fork or a snapshot carries over is the state
at the last step's end: the workspace and, where stateful, the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field

from sandmle.record import Record
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["WORKSPACE", "Capabilities", "Sandbox", "SandboxBackend", "SandboxLimits", "SandboxSpec", "Snapshot"]

WORKSPACE = "/workspace"
"""Where code runs, whatever the backend: the only path an agent ever learns."""


Image = Literal["base", "torch"]
ForkKind = Literal["process", "machine", "replay"]
Origin = Literal["created", "forked", "replayed"]


class SandboxLimits(Record):
    """What code inside may use.

    Attributes:
        memory_mib: memory of one step's processes together where the machine has cgroups, else of each process.
        processes: processes and threads at once.
        file_mib: size of any one file.
        workspace_mib: size of the whole workspace, where it can be bounded.
        output_bytes: head and tail of a step's output that are kept, together.
        cpus: cores that a step's processes share; libraries that ask see this number.
    """

    memory_mib: Annotated[int, Field(gt=0)] = 4096
    processes: Annotated[int, Field(gt=0)] = 256
    file_mib: Annotated[int, Field(gt=0)] = 512
    workspace_mib: Annotated[int, Field(gt=0)] = 1024
    output_bytes: Annotated[int, Field(gt=0)] = 20_000
    cpus: Annotated[int, Field(gt=0)] = 1


class SandboxSpec(Record):
    """What one sandbox is made of.

    Attributes:
        inputs: read-only mounts, path relative to ``/workspace`` (such as ``input``) to the host folder or file.
        env: variables the code sees, on top of a small fixed set; nothing else of ours is passed on.
        image: name of the set of libraries; ``base`` is numpy, pandas, scikit-learn, lightgbm; ``torch`` adds torch.
        network: always False today: code inside reaches no network.
        stateful: steps are cells that share one interpreter's variables, instead of scripts.
    """

    inputs: Mapping[str, Path] = Field(default_factory=lambda: MappingProxyType({}))
    env: Mapping[str, str] = Field(default_factory=lambda: MappingProxyType({}))
    limits: SandboxLimits = SandboxLimits()
    image: Image = "base"
    network: Literal[False] = False
    stateful: bool = False


class Capabilities(Record):
    """What a backend really offers on this machine: the tier is proven by a canary, not assumed.

    Attributes:
        tier: how well code is shut in.
        detail: the tier in words, and what every better one lacked.
        stateful: whether sandboxes can run cells.
        fork: how a fork gets its parent's state: ``process`` forks the processes and lays the workspace over,
            ``machine`` copies a whole virtual machine, ``replay`` runs the parent's steps again (scripts: copies the
            workspace).
        room: how many sandboxes it is worth having at a time; None where they share this machine's cores.
    """

    tier: IsolationTier
    detail: str
    stateful: bool = True
    fork: ForkKind = "replay"
    room: Annotated[int, Field(gt=0)] | None = None


class Snapshot(Protocol):
    """The state of a sandbox at a step's end, kept until closed; the sandbox itself may be closed before."""

    async def aclose(self) -> None:
        """Drop the state; safe to call twice."""
        ...

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the snapshot."""
        ...


class Sandbox(Protocol):
    """A private workspace in which code runs one step at a time."""

    @property
    def origin(self) -> Origin:
        """How it came to its state: ``replayed`` is a fork (or restore) whose parent's state could not be forked.

        The reason is logged as a warning when it happens.
        """
        ...

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = (), seed: str | None = None) -> StepResult:
        """Run ``code`` in ``/workspace``, as a script with ``sys.argv[1:] == args`` or as a cell where stateful.

        On timeout the whole process tree is killed and confirmed gone before this returns. A cell that did not end
        by itself leaves the variables as they were before it (``rolled_back``) or, where that is impossible, none
        (``lost``); see ``StepResult.state``. A cell shows the value of a last line that is an expression.

        Args:
            code: the script or cell.
            timeout: wall seconds, > 0.
            args: command-line arguments; a cell has none.
            seed: what the global generators of ``random``, ``numpy`` and ``torch`` start from, and those that numpy
                makes without a seed; None leaves a script's to chance, and a cell's as the cell before left them.

        Raises:
            ValueError: ``timeout`` is not positive, an argument holds a NUL, or a cell is given arguments.
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

    async def fork(self, n: int) -> list[Self]:
        """``n`` independent sandboxes in this one's present state; it goes on as if nothing had been.

        Forks may be forked. Each is closed by its owner, in any order. Random generators of children draw different
        numbers unless code seeds them. State that can't be forked (threads that still run, open files, pipes, sockets,
        memory that is shared) is made again by replay: see ``origin``.

        Args:
            n: how many, at least 1.

        Raises:
            ValueError: ``n`` is below 1.
            InfraError: they could not be made; none is left then.
        """
        ...

    async def snapshot(self) -> Snapshot:
        """Keep the present state.

        Raises:
            InfraError: it could not be kept.
        """
        ...

    async def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that this sandbox, or one of its relatives by fork, once had; usable any number of times.

        Raises:
            ValueError: the snapshot is closed or not of this family.
            InfraError: it could not be restored.
        """
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
