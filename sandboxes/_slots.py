"""Lets as many steps run at once as the machine has cores, each on cores of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandmle.sandboxes._leases import Leases

__all__ = ["Slots"]


class Slots:
    """The right to run a step. Belongs to one event loop; the cores may be shared with others."""

    def __init__(self, concurrency: int, cores: Leases[int]) -> None:
        """Let ``concurrency`` steps run at once."""
        self._semaphore = asyncio.Semaphore(concurrency)
        self._cores = cores

    @asynccontextmanager
    async def take(self, cpus: int) -> AsyncIterator[list[int]]:
        """Wait for a turn; gives the ``cpus`` cores that the fewest other steps use, or all where there are fewer."""
        async with self._semaphore:
            cores = self._cores.take(cpus)
            try:
                yield list(cores)
            finally:
                self._cores.give_back(cores)
