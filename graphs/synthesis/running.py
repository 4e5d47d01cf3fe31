"""Making the tasks of a batch: one run of the graph a slot, several at once, published strictly in order.

A killed or cancelled run goes on where it was when it is started again, and ends with the same bytes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from sandmle.agents.roles import DataStrategist, TaskPlan
from sandmle.eval.acceptance import Calibration
from sandmle.files import disk_errors, folder_lock
from sandmle.graphs.synthesis.batch import Batch, Progress, SlotRecord
from sandmle.graphs.synthesis.graph import builder
from sandmle.graphs.synthesis.novelty import Fingerprint
from sandmle.graphs.synthesis.state import Rejection, SynthesisState
from sandmle.graphs.synthesis.traits import Traits
from sandmle.graphs.synthesis.workshop import CommitOrder, Workshop
from sandmle.sandboxes import SandboxBackend, SandboxName
from sandmle.seeds import select_seeds
from sandmle.task import Modality

__all__ = ["synthesize"]

STATE_TYPES = (TaskPlan, Calibration, Rejection, Traits)
"""What a checkpoint may be read back as, beside plain JSON values."""
TOLD = frozenset({"reached", "discoverable", "tokens", "money"})
"""What a node's update says to whoever watches the batch."""


async def synthesize(
    batch: Batch,
    n: int,
    *,
    jobs: int | None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    sandbox: SandboxName = "local",
) -> AsyncIterator[SlotRecord]:
    """Settle slots 0 to n - 1 and yield their records in order, those of earlier runs included.

    Args:
        batch: the folder and its settings.
        n: slots.
        jobs: steps that run at once in sandboxes; None: one a core, or as many as a Ray cluster holds.
        on_progress: called for every node that ends.
        sandbox: where scripts run: ``local`` or ``ray``.

    Raises:
        BadInput: another process writes to the folder, or its batch has other settings.
        EnvironmentProblem: the disk is full, or there is no cluster.
    """
    order = CommitOrder()
    workshop = Workshop.open(batch.context, jobs=jobs, order=order, sandbox=sandbox)
    batch.context.equip(workshop)
    async with aclosing(workshop.backend):
        await _try_seeds(batch, n, workshop.team.strategist)
        window = 2 * (jobs or await _steps_at_once(workshop.backend))
        with disk_errors(batch.out), folder_lock(batch.out):
            batch.claim()
            async with aiosqlite.connect(batch.out / ".sandmle" / "checkpoints.sqlite") as database:
                saver = AsyncSqliteSaver(database, serde=JsonPlusSerializer(allowed_msgpack_modules=STATE_TYPES))
                runner = _SlotRunner(batch, batch.slots(n), saver, order, on_progress)
                async with aclosing(_in_order(runner, n, window=window)) as records:
                    async for record in records:
                        yield record


async def _steps_at_once(backend: SandboxBackend) -> int:
    found = await asyncio.to_thread(lambda: backend.capabilities)
    return found.room or os.cpu_count() or 1


async def _try_seeds(batch: Batch, n: int, strategist: DataStrategist) -> None:
    """Try every seed that will be used, so that one of which nothing can be made stops a batch before it begins."""
    for name, modality in dict.fromkeys(batch.slots(n)):
        (seed,) = await asyncio.to_thread(select_seeds, [name])
        await strategist.try_seed(seed, modality)


async def _in_order(runner: _SlotRunner, n: int, *, window: int) -> AsyncGenerator[SlotRecord, None]:
    """Run up to ``window`` slots at once and yield their records by index; on any error the others are cancelled."""
    running: dict[int, asyncio.Task[SlotRecord]] = {}
    try:
        for slot in range(n):
            for ahead in range(slot, min(slot + window, n)):
                if ahead not in running:
                    running[ahead] = asyncio.create_task(runner.run(ahead), name=f"slot {ahead}")
            await _first_error(running, slot)
            yield running[slot].result()
            del running[slot]
    finally:
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)


async def _first_error(running: dict[int, asyncio.Task[SlotRecord]], slot: int) -> None:
    """Wait for ``slot``, but raise at once what goes wrong in any other."""
    pending = set(running.values())
    while running[slot] in pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


class _SlotRunner:
    """Runs the graph for one slot, from its last checkpoint where there is one."""

    def __init__(
        self,
        batch: Batch,
        slots: Sequence[tuple[str, Modality | None]],
        saver: AsyncSqliteSaver,
        order: CommitOrder,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._batch = batch
        self._slots = slots
        self._saver = saver
        self._order = order
        self._on_progress = on_progress
        self._graph = builder().compile(checkpointer=saver)

    async def run(self, slot: int) -> SlotRecord:
        """Settle one slot."""
        record = self._batch.settled(slot)
        if record is None:
            record = await self._make(slot)
            self._batch.settle(record)
        await self._saver.adelete_thread(_thread(slot))
        if record.task_id is not None:
            fingerprint = await asyncio.to_thread(Fingerprint.read, self._batch.out / record.task_id)
            self._batch.context.workshop().novelty.add(fingerprint)
        await self._order.settle(slot)
        self._on_progress(Progress(slot=slot, node="settled", settled=record))
        return record

    async def _make(self, slot: int) -> SlotRecord:
        seed, modality = self._slots[slot]
        config = self._config(slot)
        found = await self._graph.aget_state(config)
        state = SynthesisState.model_validate(found.values) if found.values else None
        if state is not None and not self._can_go_on(state):
            await self._saver.adelete_thread(_thread(slot))
            state = None
        if state is None or state.outcome is None:
            start = SynthesisState(seed=seed, slot=slot, modality=modality) if state is None else None
            await self._drive(start, config, slot)
            state = SynthesisState.model_validate((await self._graph.aget_state(config)).values)
        kept = state.task_id is not None
        return SlotRecord(
            slot=slot,
            seed=seed,
            outcome=state.outcome or "discarded",
            task_id=state.task_id,
            candidates=state.draws,
            rejections=tuple(state.rejections),
            traits=await asyncio.to_thread(Traits.of, state.planned()) if kept else None,
            discoverable=state.discoverable if kept else None,
            cpu_s=round(state.cpu_s, 2) if kept else None,
            rung_cpu_s={rung: round(spent, 3) for rung, spent in state.rung_cpu_s.items()} if kept else None,
            tokens=state.tokens,
            money=state.money,
        )

    def _config(self, slot: int) -> Any:  # noqa: ANN401 - RunnableConfig
        """Where the slot's checkpoints are, and what its trace is called where the environment asks for one."""
        seed, modality = self._slots[slot]
        told = {
            "slot": slot,
            "seed": seed,
            "modality": modality or "seed",
            "batch_seed": self._batch.context.batch_seed,
        }
        return {
            "configurable": {"thread_id": _thread(slot)},
            "run_name": f"synthesis {_thread(slot)}",
            "tags": ["sandmle"],
            "metadata": told,
        }

    def _can_go_on(self, state: SynthesisState) -> bool:
        """Whether the files that a checkpoint speaks of are still there: the published task, or the work folder."""
        if state.outcome == "discarded" or state.plan is None:
            return True
        published = self._batch.out / state.plan.task_id / "task.json"
        return published.exists() or (state.outcome is None and self._batch.context.work(state.slot).exists())

    async def _drive(self, start: SynthesisState | None, config: Any, slot: int) -> None:  # noqa: ANN401 - RunnableConfig
        updates = self._graph.astream(
            start, config, context=self._batch.context, stream_mode="updates", durability="sync"
        )
        async for update in updates:
            for node, values in update.items():
                told = {name: value for name, value in (values or {}).items() if name in TOLD}
                rejection = values["rejections"][-1] if node == "reject" else None
                self._on_progress(Progress(slot=slot, node=node, rejection=rejection, **told))


def _thread(slot: int) -> str:
    return f"slot-{slot:05d}"
