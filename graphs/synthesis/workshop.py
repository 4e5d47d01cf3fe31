"""The workshop: what the nodes of the synthesis graph work with and that no checkpoint can hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sandmle.agents.procedural.team import ProceduralTeam
from sandmle.agents.roles import Team
from sandmle.graphs.synthesis.novelty import NoveltyIndex
from sandmle.sandboxes import LocalBackend, SandboxBackend

if TYPE_CHECKING:
    from sandmle.graphs.synthesis.state import SynthesisContext

__all__ = ["CommitOrder", "Workshop"]


class CommitOrder:
    """Lets slots publish strictly one after the other, by index, whatever order they finish in."""

    def __init__(self) -> None:
        self._settled: set[int] = set()
        self._next = 0
        self._changed = asyncio.Condition()

    async def turn(self, slot: int) -> None:
        """Wait until all lower slots are settled."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._next >= slot)

    async def settle(self, slot: int) -> None:
        """Say that ``slot`` is published or given up."""
        async with self._changed:
            self._settled.add(slot)
            while self._next in self._settled:
                self._next += 1
            self._changed.notify_all()


@dataclass
class Workshop:
    """Team, sandboxes, the order of publishing (None where a single slot runs on its own), and what is published."""

    team: Team
    backend: SandboxBackend
    order: CommitOrder | None = field(default=None)
    novelty: NoveltyIndex = field(default_factory=NoveltyIndex)

    @classmethod
    def open(cls, context: SynthesisContext, *, jobs: int | None = None, order: CommitOrder | None = None) -> Self:
        """The procedural team with local sandboxes; its scripts are ours, so they may run without isolation."""
        team = ProceduralTeam(context.batch_seed, context.settings_hash(), context.n_train, context.n_test)
        return cls(team=team, backend=LocalBackend(concurrency=jobs, allow_unisolated=True), order=order)
