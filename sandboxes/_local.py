"""The local backend: sandboxes on this machine, forked from a warm interpreter, a new process for every step.

Importing its libraries takes a script far longer than the rest of a typical step. So they are imported once, by a
*zygote* that the first sandbox of an image starts; it is forked for every sandbox, and the sandbox's init for every
step. A step is a Python just started whose libraries happen to be there. What differs from a real one: variables that
Python or a library reads when it starts (``PYTHONHASHSEED``, ``OMP_NUM_THREADS``) keep the image's values whatever a
spec's ``env`` says, and a file of the workspace that is named like a loaded library does not hide it.

How well code is shut in depends on the machine and is called its tier:

    A  root: mount, pid, network, ipc, uts and cgroup namespaces, a root of its own, an unprivileged user id
    B  the same inside a user namespace, for everybody else
    C  Landlock, seccomp and limits, where namespaces are forbidden: no file but its own and the system's, no network,
       no signal or sight of other processes' memory; shared are the process table and whether a path exists
    D  nothing but a session, limits and a clean environment; refused unless asked for by name
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from sandmle.closing import Closing
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.sandboxes._body import Body
from sandmle.sandboxes._cgroups import Groups
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._configuration import plain_configuration, shut_configuration
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._gpus import check_gpus
from sandmle.sandboxes._guest.removal import remove_folder
from sandmle.sandboxes._layout import Interpreter, check_image, find_interpreter
from sandmle.sandboxes._leases import Leases, machine_cores
from sandmle.sandboxes._pool import Pool
from sandmle.sandboxes._probe import probe
from sandmle.sandboxes._protocol import Capabilities, SandboxSpec
from sandmle.sandboxes._sandbox import LocalSandbox
from sandmle.sandboxes._slots import Slots
from sandmle.sandboxes._zygote import Zygote
from sandmle.settings import get_settings
from sandmle.trajectory import IsolationTier

__all__ = ["LocalBackend"]

T = TypeVar("T")

_log = logging.getLogger("sandmle.sandboxes")


class LocalBackend(Closing):
    """Makes sandboxes on this machine (see the module's text for the tiers).

    It may be used from several event loops, each sandbox from one alone. Its warm interpreters end with ``aclose``,
    with the backend itself, or with this process, whichever is first.
    """

    def __init__(
        self,
        concurrency: int | None = None,
        allow_unisolated: bool = False,
        python: Path | None = None,
        gpus: tuple[str, ...] | None = None,
        ready: int = 0,
        cores: Sequence[int] | None = None,
    ) -> None:
        """Set up; nothing runs before the first use.

        Args:
            concurrency: steps that run at once, at least 1; by default one a CPU core.
            allow_unisolated: run code even where this machine offers no isolation (tier D).
            python: the interpreter for the code, with its libraries; by default the one that runs us.
            gpus: the numbers of the GPUs to share out, one a sandbox; by default those of the setting ``gpus``.
            ready: how many sandboxes like the one that was created last are made in advance.
            cores: the numbers of the cores for steps; by default all that this process may use, shared with its other
                backends.

        Raises:
            BadInput: ``concurrency`` is below 1, ``ready`` below 0, or a GPU is no number.
        """
        if ready < 0:
            raise BadInput(f"ready must be at least 0, not {ready}")
        if concurrency is not None and concurrency < 1:
            raise BadInput(f"concurrency must be at least 1, not {concurrency}")
        self._concurrency = concurrency or os.cpu_count() or 1
        self._allow_unisolated = allow_unisolated
        self._python = python
        self._gpus = Leases(check_gpus(get_settings().gpus if gpus is None else gpus))
        self._groups = Groups("")
        self._probing = threading.Lock()
        self._found: Capabilities | None = None
        self._starting = threading.Lock()
        self._interpreter: Interpreter | None = None
        self._zygotes: dict[str, Zygote] = {}
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Slots] = weakref.WeakKeyDictionary()
        self._ready = ready
        self._cores = None if cores is None else Leases(cores)
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = weakref.WeakKeyDictionary()

    @property
    def capabilities(self) -> Capabilities:
        """The tier that a canary proved on this machine; the first call starts the warm interpreter: some seconds."""
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
        if spec.stateful and not found.stateful:
            raise EnvironmentProblem("stateful sandboxes need Linux; use scripts, or another backend")
        return await self._sandbox(found.tier, spec, self._pool())

    async def aclose(self) -> None:
        """End the warm interpreters and whatever sandboxes are left; one made after this starts a new one."""
        await self._pool().aclose()
        with self._starting:
            zygotes = list(self._zygotes.values())
            self._zygotes.clear()
        for zygote in zygotes:
            await asyncio.to_thread(zygote.close)

    async def _learn(self) -> Capabilities:
        if self._found is None:
            return await asyncio.to_thread(lambda: self.capabilities)
        return self._found

    async def _open(self, tier: IsolationTier, spec: SandboxSpec) -> LocalSandbox:
        """A sandbox that is made for the purpose; none is kept ready."""
        return await self._sandbox(tier, spec, Pool(0))

    async def _sandbox(self, tier: IsolationTier, spec: SandboxSpec, pool: Pool) -> LocalSandbox:
        async def make() -> Body:
            return await self._make(tier, spec)

        body = await pool.take(spec, make)
        fork = self._found.fork if self._found is not None else "process"
        return LocalSandbox(body, make, tier, spec, self._slot(), fork)

    async def _make(self, tier: IsolationTier, spec: SandboxSpec) -> Body:
        interpreter, zygote = await asyncio.to_thread(self._warm, spec.image)
        make_group = partial(self._groups.make, spec.limits, processes=tier not in ("A", "B"))
        if tier in ("A", "B"):
            with self._lease_gpu() as (gpu, lease):
                config = await asyncio.to_thread(shut_configuration, tier, spec, interpreter, gpu)
                release = lease.pop_all().close
            return Body(await Channel.open(config, zygote, make_group, release))
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="sandmle-")))  # in no thread: it can't be cancelled
        try:
            with self._lease_gpu() as (gpu, lease):
                config = await finish(asyncio.to_thread(plain_configuration, tier, spec, interpreter, gpu, folder))
                release = lease.pop_all().close
            return Body(await Channel.open(config, zygote, make_group, release), folder=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                await finish(asyncio.to_thread(remove_folder, str(folder)))
            raise

    @contextlib.contextmanager
    def _lease_gpu(self) -> Iterator[tuple[str | None, contextlib.ExitStack]]:
        """The number of a GPU, if there are any, and what ends its lease, unless that is taken over."""
        with contextlib.ExitStack() as lease:
            taken = self._gpus.take(1)
            lease.callback(self._gpus.give_back, taken)
            yield (taken[0] if taken else None), lease

    def _warm(self, image: str) -> tuple[Interpreter, Zygote]:
        """The interpreter and the live zygote of an image, started if need be."""
        with self._starting:
            if self._interpreter is None:
                self._interpreter = find_interpreter(self._python)
            zygote = self._zygotes.get(image)
            if zygote is None or not zygote.alive:
                check_image(self._interpreter, image)
                zygote = self._zygotes[image] = Zygote(self._interpreter, image)
            return self._interpreter, zygote

    def _slot(self) -> Slots:
        return self._slots.setdefault(asyncio.get_running_loop(), Slots(self._concurrency, self._cores or _cores()))

    def _pool(self) -> Pool:
        return self._pools.setdefault(asyncio.get_running_loop(), Pool(self._ready))

    def _probe(self) -> Capabilities:
        self._groups = Groups.find()
        self._warm("base")  # an interpreter that can't be started is no fault of a tier
        found = asyncio.run(probe(self._open))
        if found.tier == "D" and self._allow_unisolated:
            _log.warning("code runs without isolation on this machine: %s", found.detail)
        return found.model_copy(
            update={
                "detail": f"{found.detail}; {self._groups.detail}",
                "stateful": sys.platform == "linux",
            }
        )


@cache
def _cores() -> Leases[int]:
    """The machine's cores, shared by all backends of this process."""
    return Leases(machine_cores())


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
