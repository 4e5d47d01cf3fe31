"""A batch of tasks as a folder: its settings, and how each slot ended.

DIR/<task_id>/            finished tasks, each whole
DIR/.sandmle/batch.json   the settings that made them; others are refused in the same folder
DIR/.sandmle/slots/       one record a settled slot
DIR/.sandmle/checkpoints.sqlite, work/     what an interrupted run goes on from
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.files import write_text
from sandmle.graphs.synthesis.mix import parse_mix, slot_plan
from sandmle.graphs.synthesis.state import Rejection, Strictness, SynthesisContext
from sandmle.graphs.synthesis.traits import Reached, Traits
from sandmle.record import Record, VersionedRecord, first_problem
from sandmle.seeds import Seed, select_seeds
from sandmle.task import Modality, Task

__all__ = ["Batch", "BatchSettings", "Progress", "SlotRecord"]


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
        tokens: of language models' calls, rejected candidates included; ``money`` is their price.
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
    tokens: int = 0
    money: float = 0.0


class Progress(Record):
    """Something happened in a slot: a node ended, or the slot is settled.

    Attributes:
        reached: how far the slot's candidate has come; None where the node did not say.
        discoverable: what the search said of the slot's candidate; None where the node did not say.
        tokens: of the slot's calls of language models so far; None where the node made none, as is ``money``.
    """

    slot: int
    node: str
    reached: Reached | None = None
    discoverable: bool | None = None
    tokens: int | None = None
    money: float | None = None
    rejection: Rejection | None = None
    settled: SlotRecord | None = None


class Batch:
    """A batch folder: its settings and its settled slots.

    Args:
        out: the folder.
        seeds: ids of seeds, or paths of seed folders.
        context: settings; ``context.out`` is set to ``out``.

    Raises:
        BadInput: a seed is unknown, the folder holds a batch made with other settings, or a person is to review.
    """

    def __init__(self, out: Path, seeds: Sequence[str], context: SynthesisContext) -> None:
        self.out = out.resolve()
        self.context = context.model_copy(update={"out": str(self.out)})
        parse_mix(context.mix)
        if context.review:
            raise BadInput("a person reviews tasks one by one, in Studio; a batch can't wait for one")
        self._chosen = select_seeds(seeds)
        self.seeds = tuple(_spelling(seed) for seed in self._chosen)
        shaping = {"batch_seed": context.batch_seed, **self.context.shaping()}
        self.settings = BatchSettings(seeds=self.seeds, context=shaping)

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
        team: str = "procedural",
        strictness: Strictness = "standard",
        replies: Path | None = None,
        offline: bool = False,
    ) -> Self:
        """A batch from what a person gave, for ``n`` slots.

        Raises:
            BadInput: as above, or a number is out of its range; names it.
        """
        if n < 1:
            raise BadInput(f"n must be at least 1, not {n}")
        try:
            context = SynthesisContext(
                batch_seed=seed,
                n_train=n_train,
                n_test=n_test,
                mix=mix,
                team=team,
                strictness=strictness,
                replies=str(replies.resolve()) if replies else None,
                offline=offline,
            )
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
        made = {"seeds": list(there.seeds), **there.context}
        wanted = {"seeds": list(self.seeds), **self.settings.context}
        for name in {**wanted, **made}:
            ours, theirs = wanted.get(name), made.get(name)
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


def _spelling(seed: Seed) -> str:
    """What finds the seed again: the path of a folder seed, which need not have been added, or the id."""
    return str(seed.path) if seed.source == "folder" else seed.id
