"""The local backend: sandboxes on this machine, forked from a warm interpreter, a new process for every step.

Importing its libraries takes a script far longer than the rest of a typical step. So they are imported once, by a
*zygote* that the first sandbox of an image starts; it is forked for every sandbox, and the sandbox's init for every
step. A step is a Python just started whose libraries happen to be there. What differs from a real one: variables that
Python or a library reads when it starts (``PYTHONHASHSEED``, ``OMP_NUM_THREADS``) keep the image's values whatever a
spec's ``env`` says, and a file of the workspace that is named like a loaded library does not hide it.

How well code is shut in depends on the machine and is called its tier:

    A  root: mount, pid, network, ipc, uts and cgroup namespaces, a root of its own, an unprivileged user id
    B  the same inside a user namespace, for everybody else
    D  nothing but a session, limits and a clean environment; refused unless asked for by name
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self, TypeVar

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._configuration import plain_configuration, shut_configuration
from sandmle.sandboxes._layout import Interpreter, find_interpreter
from sandmle.sandboxes._probe import probe
from sandmle.sandboxes._protocol import Capabilities, SandboxSpec
from sandmle.sandboxes._zygote import Zygote
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["LocalBackend"]

T = TypeVar("T")

_GRACE_S = 30.0
_FILE_S = 120.0
_log = logging.getLogger("sandmle.sandboxes")


class LocalBackend:
    """Makes sandboxes on this machine (see the module's text for the tiers).

    It may be used from several event loops, each sandbox from one alone. Its warm interpreters end with ``aclose``,
    with the backend itself, or with this process, whichever is first.
    """

    def __init__(
        self, concurrency: int | None = None, allow_unisolated: bool = False, python: Path | None = None
    ) -> None:
        """Set up; nothing runs before the first use.

        Args:
            concurrency: steps that run at once, at least 1; by default one a CPU core.
            allow_unisolated: run code even where this machine offers no isolation (tier D).
            python: the interpreter for the code, with its libraries; by default the one that runs us.

        Raises:
            BadInput: ``concurrency`` is below 1.
        """
        if concurrency is not None and concurrency < 1:
            raise BadInput(f"concurrency must be at least 1, not {concurrency}")
        self._concurrency = concurrency or os.cpu_count() or 1
        self._allow_unisolated = allow_unisolated
        self._python = python
        self._probing = threading.Lock()
        self._found: Capabilities | None = None
        self._starting = threading.Lock()
        self._interpreter: Interpreter | None = None
        self._zygotes: dict[str, Zygote] = {}
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def capabilities(self) -> Capabilities:
        """The tier that a canary proved on this machine; the first call takes some tenths of a second."""
        with self._probing:
            if self._found is None:
                self._found = _in_own_thread(self._probe)
            return self._found

    async def create(self, spec: SandboxSpec) -> LocalSandbox:
        """Make a sandbox.

        Raises:
            BadInput: an input is missing or its target is not a plain relative path.
            EnvironmentProblem: this machine offers no isolation and that was not allowed.
            InfraError: it could not be made.
        """
        found = await self._learn()
        if found.tier == "D" and not self._allow_unisolated:
            raise EnvironmentProblem(
                f"this machine can't isolate code ({found.detail});"
                " use another machine or container setup, or accept the risk with --allow-unisolated"
            )
        return await self._open(found.tier, spec)

    async def aclose(self) -> None:
        """End the warm interpreters and whatever sandboxes are left; one made after this starts a new one."""
        with self._starting:
            zygotes = list(self._zygotes.values())
            self._zygotes.clear()
        for zygote in zygotes:
            await asyncio.to_thread(zygote.close)

    async def __aenter__(self) -> Self:
        """The backend itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the backend."""
        await self.aclose()

    async def _learn(self) -> Capabilities:
        if self._found is None:
            return await asyncio.to_thread(lambda: self.capabilities)
        return self._found

    async def _open(self, tier: IsolationTier, spec: SandboxSpec) -> LocalSandbox:
        interpreter, zygote = await asyncio.to_thread(self._warm, spec.image)
        if tier != "D":
            config = await asyncio.to_thread(shut_configuration, tier, spec, interpreter)
            return LocalSandbox(await Channel.open(config, zygote), tier, self._slot(), None)
        folder = await asyncio.to_thread(lambda: Path(os.path.realpath(tempfile.mkdtemp(prefix="sandmle-"))))
        try:
            config = await asyncio.to_thread(plain_configuration, spec, interpreter, folder)
            channel = await Channel.open(config, zygote)
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        return LocalSandbox(channel, tier, self._slot(), folder)

    def _warm(self, image: str) -> tuple[Interpreter, Zygote]:
        """The interpreter and the live zygote of an image, started if need be."""
        with self._starting:
            if self._interpreter is None:
                self._interpreter = find_interpreter(self._python)
            zygote = self._zygotes.get(image)
            if zygote is None or not zygote.alive:
                zygote = self._zygotes[image] = Zygote(self._interpreter, image)
            return self._interpreter, zygote

    def _slot(self) -> asyncio.Semaphore:
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))

    def _probe(self) -> Capabilities:
        found = asyncio.run(probe(self._open))
        if found.tier == "D" and self._allow_unisolated:
            _log.warning("code runs without isolation on this machine: %s", found.detail)
        return found


class LocalSandbox:
    """One sandbox of the local backend; see ``Sandbox`` for what each method promises."""

    def __init__(self, channel: Channel, tier: IsolationTier, slots: asyncio.Semaphore, folder: Path | None) -> None:
        self._channel = channel
        self._tier = tier
        self._slots = slots
        self._folder = folder
        self._turn = asyncio.Lock()
        self._closed = False

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = ()) -> StepResult:
        """Run a script.

        Raises:
            ValueError: ``timeout`` is not positive or an argument holds a NUL.
            InfraError: the sandbox itself failed.
        """
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        if any("\0" in argument for argument in args):
            raise ValueError("an argument holds a NUL character")
        request = {"op": "run", "timeout": timeout, "args": list(args)}
        async with self._turn, self._slots:
            answer, _ = await self._ask(request, code.encode("utf-8", "surrogatepass"), timeout + _GRACE_S)
        return StepResult(**{name: value for name, value in answer.items() if name != "id"}, tier=self._tier)

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Read a regular file of the workspace.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: not a regular file, reached through a link, or too large.
        """
        return await self._file({"op": "read", "path": _relative(path), "max_bytes": max_bytes})

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the workspace.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is full.
        """
        await self._file({"op": "write", "path": _relative(path)}, data)

    async def remove(self, path: str) -> None:
        """Remove whatever is at ``path``.

        Raises:
            ValueError: the path leads through a link or out of the workspace.
            OSError: the workspace refuses, for instance because it is an input.
        """
        await self._file({"op": "remove", "path": _relative(path)})

    async def aclose(self) -> None:
        """Kill everything inside and drop the workspace."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._channel.close()
        finally:
            if self._folder is not None:
                await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def __aenter__(self) -> Self:
        """The sandbox itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sandbox."""
        await self.aclose()

    async def _file(self, request: dict[str, Any], data: bytes = b"") -> bytes:
        async with self._turn:
            answer, found = await self._ask(request, data, _FILE_S)
        kind = answer.get("error")
        if kind == "missing":
            raise FileNotFoundError(answer["message"])
        if kind == "refused":
            raise ValueError(answer["message"])
        if kind == "system":
            raise OSError(answer["errno"], answer["message"])
        return found

    async def _ask(self, request: dict[str, Any], data: bytes, limit: float) -> tuple[dict[str, Any], bytes]:
        if self._closed:
            raise InfraError("the sandbox is closed")
        return await self._channel.ask(request, data, limit)


def _relative(path: str) -> str:
    """The path in its plain form, relative to the workspace.

    Raises:
        ValueError: it is empty, absolute, or has a ``..``.
    """
    plain = PurePosixPath(path)
    if not plain.parts or plain.is_absolute() or ".." in plain.parts or "\0" in path:
        raise ValueError(f"{path!r}: not a path inside the workspace")
    return plain.as_posix()


def _in_own_thread(work: Callable[[], T]) -> T:
    """Run ``work``, which has an event loop of its own, whether or not this thread is running one."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=target, name="sandmle-probe")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
