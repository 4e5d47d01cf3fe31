"""Makes sandboxes that are machines of E2B."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shlex
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sandmle.closing import Closing
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.sandboxes._inputs import packed_inputs
from sandmle.sandboxes._protocol import Capabilities, Image, SandboxSpec
from sandmle.sandboxes.e2b._faults import Patience
from sandmle.sandboxes.e2b._guest import PRIVATE, PROGRAM, UPLOADS
from sandmle.sandboxes.e2b._machine import Machine
from sandmle.sandboxes.e2b._sandbox import E2BSandbox
from sandmle.sandboxes.e2b._service import Service
from sandmle.sandboxes.e2b._upload import configuration, packed_program

__all__ = ["E2BBackend"]

_TEMPLATES: Mapping[Image, str] = MappingProxyType({"base": "code-interpreter-v1"})
_SETUP_S = 120.0
_ARCHIVE = f"{UPLOADS}/program.tar.gz"
_UNPACK = f"umask 022 && mkdir -p {PROGRAM} && chmod 700 {PRIVATE} && tar -xzf {shlex.quote(_ARCHIVE)} -C {PROGRAM} && "


class E2BBackend(Closing):
    """Makes sandboxes at E2B (see the package's text).

    It may be used from several event loops, each sandbox from one alone.
    """

    def __init__(
        self,
        concurrency: int = 16,
        templates: Mapping[Image, str] = _TEMPLATES,
        ttl_s: int = 600,
        patience: Patience | None = None,
    ) -> None:
        """Set up; E2B is not asked before the first sandbox.

        Args:
            concurrency: steps that run at once, at least 1.
            templates: E2B's template for each image; its ``python3`` must be 3.11 or later and have the libraries.
            ttl_s: seconds, at least 3, after which E2B takes a machine down once its host has gone silent.
            patience: how often to try again; by default 6 attempts over about 15 seconds.

        Raises:
            BadInput: ``concurrency`` or ``ttl_s`` is too small.
            EnvironmentProblem: the extra is not installed, or there is no key.
        """
        if concurrency < 1:
            raise BadInput(f"concurrency must be at least 1, not {concurrency}")
        if ttl_s < 3:
            raise BadInput(f"ttl_s must be at least 3, not {ttl_s}")
        if importlib.util.find_spec("e2b") is None:
            raise EnvironmentProblem("E2B's SDK is not installed: pip install 'sandmle[e2b]'")
        if not os.environ.get("E2B_API_KEY"):
            raise EnvironmentProblem("E2B needs a key: export E2B_API_KEY=... (from e2b.dev)")
        self._concurrency = concurrency
        self._templates = dict(templates)
        self._service = Service(patience or Patience(), ttl_s)
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def capabilities(self) -> Capabilities:
        """What E2B offers; ``sandmle doctor --sandbox e2b`` puts it to the test."""
        detail = "a virtual machine at E2B without internet, and in it an unprivileged user"
        return Capabilities(tier="vm", detail=detail, stateful=True, fork="machine", room=self._concurrency)

    async def create(self, spec: SandboxSpec) -> E2BSandbox:
        """Make a sandbox.

        Raises:
            BadInput: an input is missing or its target is not a plain relative path, or the image has no template.
            EnvironmentProblem: E2B does not accept the key.
            InfraError: it could not be made.
        """
        if spec.image not in self._templates:
            raise BadInput(
                f"no E2B template is known for the image {spec.image!r}: name one in E2BBackend(templates=...)"
            )
        config = configuration(spec)
        machine = await self._service.start(self._templates[spec.image])
        try:
            await self._set_up(machine, spec, config)
        except BaseException:
            await self._service.stop(machine)
            raise
        return E2BSandbox(machine, self._service, spec, self._slot())

    async def aclose(self) -> None:
        """Take down the machines and drop the snapshots that are left."""
        await self._service.aclose()

    async def _set_up(self, machine: Machine, spec: SandboxSpec, config: dict[str, object]) -> None:
        program = await asyncio.to_thread(packed_program)
        await machine.upload(_ARCHIVE, program)
        if spec.inputs:
            with await asyncio.to_thread(packed_inputs, spec) as archive:
                await machine.upload(f"{UPLOADS}/inputs.tar", Path(archive.name))
        await machine.call("setup", {"configuration": config}, _SETUP_S, before=_UNPACK)

    def _slot(self) -> asyncio.Semaphore:
        return self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))
