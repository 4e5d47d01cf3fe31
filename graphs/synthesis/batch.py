"""Making a batch of tasks: one run of the graph a slot, several at once, published strictly in order.

    DIR/<task_id>/            finished tasks, each whole
    DIR/.sandmle/batch.json   the settings that made them; others are refused in the same folder
    DIR/.sandmle/slots/       one record a settled slot
    DIR/.sandmle/checkpoints.sqlite, work/     what an interrupted run goes on from

A killed or cancelled run goes on where it was when it is started again, and ends with the same bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, Self

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import ValidationError

from sandmle.agents.roles import DataStrategist, TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Calibration
from sandmle.files import disk_errors, folder_lock, write_text
from sandmle.graphs.synthesis.graph import builder
from sandmle.graphs.synthesis.mix import parse_mix, slot_plan
from sandmle.graphs.synthesis.novelty import Fingerprint
from sandmle.graphs.synthesis.state import Rejection, SynthesisContext, SynthesisState
from sandmle.graphs.synthesis.traits import Reached, Traits
from sandmle.graphs.synthesis.workshop import CommitOrder, Workshop
from sandmle.record import Record, VersionedRecord, first_problem
from sandmle.seeds import Seed, select_seeds
from sandmle.task import Modality, Task

__all__ = ["Batch", "BatchSettings", "Progress", "SlotRecord", "synthesize"]

STATE_TYPES = (TaskPlan, Calibration, Rejection, Traits)
"""What a checkpoint may be read back as, beside plain JSON values."""


class BatchSettings(VersionedRecord):
    """What fixes a batch: equal settings give equal tasks. ``seeds`` take turns, slot by slot."""

    seeds: tuple[str, ...]
    context: dict[str, Any]


class SlotRecord(VersionedRecord):
    """How a slot ended.

    Attributes:
        candidates: how many were drawn; all but a published one are among ``rejections``.
        traits: of the published task, as are ``discoverable``, ``cpu_s`` (CPU seconds) and ``rung_cpu_s`` (of each
            baseline, the largest of its redraws); None without one.
    """

    slot: int
    seed: str
    outcome: Literal["published", "discarded"]
    task_id: str | None
    candidates: int
    rejections: tuple[Rejection, ...]
    traits: Traits | None = None
    discoverable: bool | None = None
    cpu_s: float | None = None
    rung_cpu_s: dict[str, float] | None = None


class Progress(Record):
    """Something happened in a slot: a node ended, or the slot is settled.

    Attributes:
        reached: how far the slot's candidate has come; None where the node did not say.
        discoverable: what the search said of the slot's candidate; None where the node did not say.
    """

    slot: int
    node: str
    reached: Reached | None = None
    discoverable: bool | None = None
    rejection: Rejection | None = None
    settled: SlotRecord | None = None


class Batch:
    """A batch folder: its settings and its settled slots.

    Args:
        out: the folder.
        seeds: ids of seeds, or paths of seed folders.
        context: settings; ``context.out`` is set to ``out``.

    Raises:
        BadInput: a seed is unknown, or the folder holds a batch made with other settings.
    """

    def __init__(self, out: Path, seeds: Sequence[str], context: SynthesisContext) -> None:
        self.out = out.resolve()
        self.context = context.model_copy(update={"out": str(self.out)})
        parse_mix(context.mix)
        self._chosen = select_seeds(seeds)
        self.seeds = tuple(_spelling(seed) for seed in self._chosen)
        self.settings = BatchSettings(seeds=self.seeds, context=self.context.model_dump(mode="json", exclude={"out"}))

    @classmethod
    def open(
        cls,
        out: Path,
        seeds: Sequence[str],
        *,
        n: int,
        seed: int,
        n_train: int,
        n_test: int | None = None,
        mix: str = "seed",
    ) -> Self:
        """A batch from what a person gave, for ``n`` slots.

        Raises:
            BadInput: as above, or a number is out of its range; names it.
        """
        if n < 1:
            raise BadInput(f"n must be at least 1, not {n}")
        try:
            context = SynthesisContext(batch_seed=seed, n_train=n_train, n_test=n_test, mix=mix)
        except ValidationError as error:
            raise BadInput(first_problem(error)) from error
        return cls(out, seeds, context)

    def slots(self, n: int) -> list[tuple[str, Modality | None]]:
        """Seed and modality of the first ``n`` slots."""
        return [(_spelling(seed), modality) for seed, modality in slot_plan(self.context.mix, self._chosen, n)]

    @property
    def _folder(self) -> Path:
        return self.out / ".sandmle"

    def claim(self) -> None:
        """Write the settings, or see that they are those of the batch that is already there."""
        path = self._folder / "batch.json"
        if not path.exists():
            write_text(path, self.settings.to_text())
            return
        there = BatchSettings.read(path)
        for name, ours in {"seeds": list(self.seeds), **self.settings.context}.items():
            theirs = list(there.seeds) if name == "seeds" else there.context.get(name)
            if ours != theirs:
                raise BadInput(
                    f"{self.out} holds a batch made with {name} = {theirs}, not {ours};"
                    " use the same settings or another --out"
                )

    def settled(self, slot: int) -> SlotRecord | None:
        """How the slot ended; None if it has not, or if its task is gone."""
        path = self._folder / "slots" / f"{slot:05d}.json"
        if not path.exists():
            return None
        record = SlotRecord.read(path)
        gone = record.task_id is not None and not (self.out / record.task_id / "task.json").exists()
        return None if gone else record

    def settle(self, record: SlotRecord) -> None:
        """Remember how a slot ended."""
        write_text(self._folder / "slots" / f"{record.slot:05d}.json", record.to_text())

    def task(self, record: SlotRecord) -> Task:
        """The task that a slot published."""
        return Task.load(self.out / str(record.task_id))


async def synthesize(
    batch: Batch, n: int, *, jobs: int, on_progress: Callable[[Progress], None] = lambda _: None
) -> AsyncIterator[SlotRecord]:
    """Settle slots 0 to n - 1 and yield their records in order, those of earlier runs included.

    Args:
        batch: the folder and its settings.
        n: slots.
        jobs: steps that run at once in sandboxes.
        on_progress: called for every node that ends.

    Raises:
        BadInput: another process writes to the folder, or its batch has other settings.
        EnvironmentProblem: the disk is full.
    """
    order = CommitOrder()
    workshop = Workshop.open(batch.context, jobs=jobs, order=order)
    batch.context.equip(workshop)
    await _try_seeds(batch, n, workshop.team.strategist)
    with disk_errors(batch.out), folder_lock(batch.out):
        batch.claim()
        try:
            async with aiosqlite.connect(batch.out / ".sandmle" / "checkpoints.sqlite") as database:
                saver = AsyncSqliteSaver(database, serde=JsonPlusSerializer(allowed_msgpack_modules=STATE_TYPES))
                runner = _SlotRunner(batch, batch.slots(n), saver, order, on_progress)
                async with aclosing(_in_order(runner, n, window=2 * jobs)) as records:
                    async for record in records:
                        yield record
        finally:
            await workshop.backend.aclose()


async def _try_seeds(batch: Batch, n: int, strategist: DataStrategist) -> None:
    """Plan once from every seed that will be used, so that one without usable data stops a batch before it begins."""
    for name, modality in dict.fromkeys(batch.slots(n)):
        (seed,) = await asyncio.to_thread(select_seeds, [name])
        await strategist.plan(seed, 0, modality)


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
        config: Any = {"configurable": {"thread_id": _thread(slot)}}
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
        )

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
                changed = values or {}
                rejection = changed["rejections"][-1] if node == "reject" else None
                self._on_progress(
                    Progress(
                        slot=slot,
                        node=node,
                        reached=changed.get("reached"),
                        discoverable=changed.get("discoverable"),
                        rejection=rejection,
                    )
                )


def _thread(slot: int) -> str:
    return f"slot-{slot:05d}"


def _spelling(seed: Seed) -> str:
    """What finds the seed again: the path of a folder seed, which need not have been added, or the id."""
    return str(seed.path) if seed.source == "folder" else seed.id
