"""What a training with rewards has used, as its log of metrics tells."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from sandmle.record import Record

__all__ = ["Cost", "CostName"]

CostName = Literal["rollouts", "tokens", "sandbox_runs", "sandbox_s"]


class Cost(Record):
    """What trainings used.

    Attributes:
        updates: made.
        rollouts: episodes that counted.
        tokens: sampled.
        sandbox_runs: of the policy's code; ``sandbox_s`` their CPU seconds.
    """

    updates: int = 0
    rollouts: int = 0
    tokens: int = 0
    sandbox_runs: int = 0
    sandbox_s: float = 0.0

    @classmethod
    def of(cls, trainings: Iterable[Path]) -> Self:
        """The sum over the folders of trainings; those that have no log used nothing."""
        logs = [path for folder in trainings if (path := folder / "metrics-grpo.jsonl").exists()]
        lines = [json.loads(line) for path in logs for line in path.read_text(encoding="utf-8").splitlines()]
        return cls(
            updates=len(lines),
            rollouts=sum(line["rollouts"] for line in lines),
            tokens=sum(line["sampled"] for line in lines),
            sandbox_runs=sum(line["sandbox_runs"] for line in lines),
            sandbox_s=sum(line["sandbox_s"] for line in lines),
        )

    def reaches(self, reference: Cost, names: Iterable[CostName]) -> bool:
        """Whether each of the costs ``names`` is at least the reference's."""
        return all(getattr(self, name) >= getattr(reference, name) for name in names)
