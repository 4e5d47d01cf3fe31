"""Running a foreign evaluator: in a sandbox, with nothing but itself, its answers and the submission."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Self

from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.record import Record
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.task import TIERS, Thresholds

__all__ = ["Printed", "run_evaluator"]

CPU_SECONDS = 120.0
PRELOAD = ("numpy", "pandas", "sklearn.metrics")
MAX_QUOTE = 200


class Printed(Record):
    """What an evaluator says of a submission: everything, or ``problem``.

    Attributes:
        score: None where it scores it not.
        problem: the end of what it wrote instead.
    """

    score: float | None = None
    lower_is_better: bool = False
    tiers: dict[str, float] | None = None
    problem: str = ""

    @classmethod
    def read(cls, log: str) -> Self:
        """From what the evaluator wrote, which should hold one JSON object."""
        try:
            found = json.loads(log[log.index("{") : log.rindex("}") + 1])
            score, lower = _number(found.get("score")), found.get("is_lower_better")
            tiers = {tier.value: _number(found.get(f"{tier.value}_threshold")) for tier in TIERS}
        except (ValueError, AttributeError):
            return cls(problem=quoted(log))
        known = {name: value for name, value in tiers.items() if value is not None}
        return cls(
            score=score,
            lower_is_better=lower is True or str(lower).strip().lower() in ("true", "1", "yes"),
            tiers=known if len(known) == len(tiers) else None,
            problem="" if score is not None else str(found.get("error", "no score"))[:MAX_QUOTE],
        )

    @property
    def thresholds(self) -> Thresholds | None:
        """The four thresholds, None where one is missing."""
        return None if self.tiers is None else Thresholds(**self.tiers)


def quoted(log: str) -> str:
    """The end of what a run wrote, in one line."""
    return " ".join(log.split())[-MAX_QUOTE:] or "it wrote nothing"


def _number(value: Any) -> float | None:  # noqa: ANN401 - whatever JSON holds
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


async def run_evaluator(
    backend: SandboxBackend, quarantine: Path, evaluator: str, submissions: Sequence[bytes]
) -> list[Printed]:
    """What the evaluator prints for each submission.

    Args:
        backend: of the sandbox.
        quarantine: holds evaluator and answers at the paths that they had in the bundle, and nothing else.
        evaluator: its path there; it runs in its own folder.
        submissions: the bytes of CSV files.

    Raises:
        InfraError: the sandbox failed.
    """
    folder = PurePosixPath("bundle") / PurePosixPath(evaluator).parent
    printed = []
    async with await backend.create(SandboxSpec(inputs={"bundle": quarantine})) as sandbox:
        for index, data in enumerate(submissions):
            name = f"submissions/{index}.csv"
            await sandbox.write(name, data)
            job = ScriptJob(
                name=f"evaluate-{index}",
                script=f"bundle/{evaluator}",
                folder=str(folder),
                args=("--submission_path", os.path.relpath(name, folder)),
                cpu_seconds=CPU_SECONDS,
            )
            result = (await run_scripts(sandbox, [job], preload=PRELOAD))[job.name]
            printed.append(Printed.read(result.log) if result.ok else Printed(problem=quoted(result.log)))
    return printed
