"""What was measured on the machine that made the tasks, from ``.sandmle``: it differs from machine to machine."""

from __future__ import annotations

from collections.abc import Sequence

from sandmle.graphs.synthesis.card._collect import NAMES, Candidate, Collected
from sandmle.graphs.synthesis.card._record import DIMENSIONS, Dimension, Quartiles
from sandmle.record import Record

__all__ = ["Cost", "Measured", "measure"]


class Cost(Record):
    """CPU seconds spent on all candidates of a group, and its kept tasks."""

    name: str
    kept: int
    cpu_s: float

    @property
    def per_kept(self) -> float | None:
        """CPU seconds per kept task, those of rejected candidates included; None where none was kept."""
        return self.cpu_s / self.kept if self.kept else None


class Measured(Record):
    """CPU seconds.

    Attributes:
        total: over all candidates.
        costs: by dimension, the costliest task first; a task counts for each of its primitives.
        rungs: run time of each baseline on a kept task, the largest of its training redraws.
    """

    total: Cost
    costs: dict[Dimension, tuple[Cost, ...]]
    rungs: dict[str, Quartiles]


def measure(found: Collected) -> Measured | None:
    """The measurements of a folder; None where ``.sandmle`` holds none."""
    candidates = found.candidates()
    if not candidates:
        return None
    seconds: dict[str, list[float]] = {}
    for slot in found.slots:
        for rung, spent in (slot.rung_cpu_s or {}).items():
            seconds.setdefault(rung, []).append(spent)
    boxes = {rung: Quartiles.of(values) for rung, values in seconds.items()}
    return Measured(
        total=_cost("all", candidates),
        costs={dimension: _costs(dimension, candidates) for dimension in DIMENSIONS},
        rungs={rung: box for rung, box in boxes.items() if box is not None},
    )


def _costs(dimension: Dimension, candidates: Sequence[Candidate]) -> tuple[Cost, ...]:
    members: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for name in NAMES[dimension](candidate.traits):
            members.setdefault(name, []).append(candidate)
    found = [_cost(name, group) for name, group in sorted(members.items())]
    return tuple(sorted(found, key=lambda cost: -(cost.per_kept or 0.0)))


def _cost(name: str, candidates: Sequence[Candidate]) -> Cost:
    kept = sum(candidate.kept for candidate in candidates)
    return Cost(name=name, kept=kept, cpu_s=round(sum(candidate.cpu_s for candidate in candidates), 2))
