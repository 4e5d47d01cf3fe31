"""Makes sandboxes in places of a Ray cluster."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from sandmle.closing import Closing
from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.sandboxes._configuration import checked_variables
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes._inputs import packed_inputs
from sandmle.sandboxes._protocol import Capabilities, SandboxSpec
from sandmle.sandboxes.ray import _cluster
from sandmle.sandboxes.ray._calls import LostPlace
from sandmle.sandboxes.ray._places import HiredPlace, Places
from sandmle.sandboxes.ray._sandbox import Family, RaySandbox
from sandmle.settings import get_settings

__all__ = ["RayBackend"]

_log = logging.getLogger("sandmle.sandboxes")


class RayBackend(Closing):
    """Makes sandboxes in a Ray cluster (see the package's text).

    It may be used from several event loops, each sandbox from one alone.
    """

    def __init__(
        self, *, gpus: float | None = None, allow_unisolated: bool = False, python: Path | None = None
    ) -> None:
        """Set up; the cluster is not asked before the first use.

        Args:
            gpus: GPUs that each sandbox has: none, one, or a share of one; by default those of the setting
                ``ray_gpus``.
            allow_unisolated: run code even on machines that offer no isolation (tier D).
            python: the interpreter for the code, on every machine; by default the one that runs Ray there.

        Raises:
            BadInput: ``gpus`` is not between 0 and 1.
            EnvironmentProblem: the extra is not installed.
        """
        self._gpus = get_settings().ray_gpus if gpus is None else gpus
        if not 0 <= self._gpus <= 1:
            raise BadInput(f"gpus must be from 0 to 1, not {self._gpus:g}")
        _cluster.require_ray()
        self._found: Capabilities | None = None
        self._allow_unisolated = allow_unisolated
        self._places = Places(lambda cpus: _cluster.hire(cpus, self._gpus, python, allow_unisolated), _cluster.dismiss)

    @property
    def capabilities(self) -> Capabilities:
        """What the machine of the first place was proven to offer; places on others must offer the same tier.

        Raises:
            EnvironmentProblem: there is no cluster, or none of its machines has what a sandbox needs.
            InfraError: no place could be started.
        """
        if self._found is None:
            place = self._places.ask(self._reserve(1)).result()
            self._places.give_back(place)
            found = self._places.first.capabilities
            if found.tier == "D" and self._allow_unisolated:
                _log.warning("code runs without isolation in the Ray cluster: %s", found.detail)
            self._found = found.model_copy(update={"room": _cluster.room(self._gpus)})
        return self._found

    async def create(self, spec: SandboxSpec) -> RaySandbox:
        """Make a sandbox, as soon as the cluster has a place for it.

        Raises:
            BadInput: an input is missing or its target is not a plain relative path.
            EnvironmentProblem: there is no cluster, none of its machines has what the sandbox needs, or they offer no
                isolation and that was not allowed.
            InfraError: it could not be made.
        """
        checked_variables(spec)
        archive = await asyncio.to_thread(_pack, spec)
        cpus = await asyncio.to_thread(self._reserve, spec.limits.cpus)
        while True:
            place = await self._places.take(cpus)
            fresh = place.fresh
            try:
                return await self._settle(place, spec, archive)
            except LostPlace as error:
                if fresh:
                    raise
                _log.info("%s; another place is taken", error)

    async def aclose(self) -> None:
        """End all places, and whatever sandboxes are left in them."""
        self._places.close()

    def _reserve(self, cpus: int) -> int:
        _cluster.connect()
        return _cluster.reservable(cpus, self._gpus)

    async def _settle(self, place: HiredPlace, spec: SandboxSpec, archive: bytes) -> RaySandbox:
        """Make the first sandbox of a family in an empty place."""
        family = Family(place, self._leave)
        try:
            fields = {**dict(spec), "env": dict(spec.env), "inputs": list(spec.inputs)}
            number = await family.call("create", fields, archive)
        except BaseException:
            await finish(family.leave())
            raise
        return RaySandbox(family, number, "created")

    async def _leave(self, place: HiredPlace, lost: bool) -> None:
        if not lost:
            self._places.give_back(place)
            return
        self._places.dismiss(place)
        for cpus in self._places.awaited:
            try:
                if await asyncio.to_thread(_cluster.reservable, cpus, self._gpus) < cpus:
                    self._places.disappoint(cpus, InfraError(f"Ray lost the nodes that had {cpus} CPU"))
            except EnvironmentProblem as problem:
                self._places.disappoint(cpus, problem)


def _pack(spec: SandboxSpec) -> bytes:
    with packed_inputs(spec) as archive:
        return Path(archive.name).read_bytes()
