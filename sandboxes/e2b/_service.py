"""E2B as a maker of machines: starts, copies, keeps and stops them, and knows all that are not yet stopped."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from sandmle.errors import SandmleError
from sandmle.sandboxes._finish import finish
from sandmle.sandboxes.e2b._faults import Patience, translate
from sandmle.sandboxes.e2b._machine import Machine

if TYPE_CHECKING:
    from e2b import AsyncSandbox

__all__ = ["Service"]

_MOST_FORKS = 20
"""Copies that E2B makes in one request."""
_log = logging.getLogger("sandmle.sandboxes")


class Service:
    """What of E2B a backend uses."""

    def __init__(self, patience: Patience, ttl_s: int) -> None:
        """Give machines a time to live of ``ttl_s`` seconds, renewed while they are held."""
        self._patience = patience
        self._ttl_s = ttl_s
        self._machines: set[Machine] = set()
        self._kept: set[str] = set()

    async def start(self, template: str, *, first_number: int = 0) -> Machine:
        """Start a machine that can't reach the internet.

        Args:
            template: name or id of what to start it from.
            first_number: of its requests.

        Raises:
            E2BFault: it could not be started.
            EnvironmentProblem: the key is not accepted.
        """
        from e2b import AsyncSandbox

        key = str(uuid.uuid4())  # a second attempt finds the machine that the first has started
        remote = await self._patience.keep_trying(
            "creating a machine",
            lambda: AsyncSandbox.create(
                template, timeout=self._ttl_s, allow_internet_access=False, idempotency_key=key
            ),
        )
        return self._hold(remote, first_number)

    async def fork(self, machine: Machine, n: int) -> list[Machine]:
        """Copy a machine ``n`` times.

        Raises:
            E2BFault: not all could be made; none is left then.
        """
        copies: list[Machine] = []
        faults: list[Exception] = []
        try:
            while len(copies) < n and not faults:
                await finish(self._copy(machine, min(n - len(copies), _MOST_FORKS), copies, faults))
            if faults:
                raise translate(faults[0], "forking") from faults[0]
        except BaseException:
            await finish(self._stop_all(copies))
            raise
        return copies

    async def _copy(self, machine: Machine, count: int, copies: list[Machine], faults: list[Exception]) -> None:
        for copy in await machine.fork(count):
            if isinstance(copy, Exception):
                faults.append(copy)
            else:
                copies.append(self._hold(copy, machine.next_number))

    async def _stop_all(self, machines: list[Machine]) -> None:
        await asyncio.gather(*(self.stop(machine) for machine in machines))

    async def keep(self, machine: Machine) -> str:
        """Keep a machine's state until it is dropped.

        Returns:
            the template to start it from.

        Raises:
            E2BFault: it could not be kept.
        """
        template = await machine.snapshot()
        self._kept.add(template)
        return template

    async def drop(self, template: str) -> None:
        """Drop a kept state; a failure is only logged, for there is nothing the caller could do."""
        from e2b import AsyncSandbox

        self._kept.discard(template)
        try:
            await self._patience.keep_trying("dropping a snapshot", lambda: AsyncSandbox.delete_snapshot(template))
        except SandmleError as error:
            _log.warning("%s; snapshot %s is left at E2B", error, template)

    async def stop(self, machine: Machine) -> None:
        """Take a machine down."""
        self._machines.discard(machine)
        await machine.kill()

    async def aclose(self) -> None:
        """Take down all machines and drop all kept states."""
        machines, kept = list(self._machines), list(self._kept)
        await asyncio.gather(*(self.stop(machine) for machine in machines), *(self.drop(one) for one in kept))

    def _hold(self, remote: AsyncSandbox, first_number: int) -> Machine:
        machine = Machine(remote, self._patience, self._ttl_s, first_number)
        self._machines.add(machine)
        return machine
