"""The workshop: what the nodes of the synthesis graph work with and that no checkpoint can hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sandmle.agents.llm import ModelCalls, make_team
from sandmle.agents.roles import Team
from sandmle.graphs.synthesis.novelty import NoveltyIndex
from sandmle.sandboxes import SandboxBackend, SandboxName, open_backend
from sandmle.settings import get_settings

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
    def open(
        cls,
        context: SynthesisContext,
        *,
        jobs: int | None = None,
        order: CommitOrder | None = None,
        sandbox: SandboxName = "local",
    ) -> Self:
        """The context's team with sandboxes.

        Scripts of ours may run without isolation; those of a language model may not, unless the settings say so.
        """
        players = context.players()
        calls = ModelCalls(
            players,
            Path(context.out).resolve() / ".sandmle" / "models",
            cache=Path(context.replies) if context.replies else None,
            offline=context.offline,
        )
        team = make_team(
            players,
            calls,
            batch_seed=context.batch_seed,
            settings_hash=context.settings_hash(),
            n_train=context.n_train,
            n_test=context.n_test,
        )
        ours = team.kind == "procedural"
        unisolated = ours or get_settings().allow_unisolated
        backend = open_backend(sandbox, concurrency=jobs, allow_unisolated=unisolated)
        return cls(team=team, backend=backend, order=order)
