"""Running a foreign evaluator: each time in a new sandbox, with nothing but itself, its answers and the submission.

It may do there what it likes: whatever it writes, forks or waits for ends with its sandbox, and a run that is cut has
no score.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Self

from sandmle.agents.observation import plain_text
from sandmle.record import Record
from sandmle.sandboxes import SandboxBackend, SandboxSpec
from sandmle.task import TIERS, Thresholds
from sandmle.trajectory import StepResult

__all__ = ["Printed", "one_line", "run_evaluator"]

SECONDS = 120.0
"""Wall seconds after which a run is cut."""
MAX_QUOTE = 200
RUN = """
import os, runpy, sys

os.chdir(sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


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
    def of(cls, step: StepResult) -> Self:
        """From how its run ended."""
        if step.status == "ok":
            return cls.read(step.output)
        ending = "" if step.status == "error" else f"its run was cut ({step.status}): "
        return cls(problem=ending + quoted(step.output))

    @classmethod
    def read(cls, output: str) -> Self:
        """From what the evaluator wrote, which should hold one JSON object."""
        try:
            found = json.loads(output[output.index("{") : output.rindex("}") + 1])
        except (ValueError, RecursionError):
            return cls(problem=quoted(output))
        score, lower = _number(found.get("score")), found.get("is_lower_better")
        tiers = {tier.value: _number(found.get(f"{tier.value}_threshold")) for tier in TIERS}
        known = {name: value for name, value in tiers.items() if value is not None}
        return cls(
            score=score,
            lower_is_better=lower is True or str(lower).strip().lower() in ("true", "1", "yes"),
            tiers=known if len(known) == len(tiers) else None,
            problem="" if score is not None else quoted(str(found.get("error", "no score"))),
        )

    @property
    def thresholds(self) -> Thresholds | None:
        """The four thresholds, None where one is missing."""
        return None if self.tiers is None else Thresholds(**self.tiers)


def quoted(output: str) -> str:
    """The end of what a run wrote."""
    return one_line(output)[-MAX_QUOTE:] or "it wrote nothing"


def one_line(text: str) -> str:
    """``text`` of others as one line that a terminal can take."""
    return " ".join(plain_text(text).split())


def _number(value: Any) -> float | None:  # noqa: ANN401 - whatever JSON holds
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
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
    return [await _run(backend, quarantine, PurePosixPath(evaluator), data) for data in submissions]


async def _run(backend: SandboxBackend, quarantine: Path, evaluator: PurePosixPath, submission: bytes) -> Printed:
    folder = PurePosixPath("bundle") / evaluator.parent
    told = ("--submission_path", os.path.relpath("submission.csv", folder))
    async with await backend.create(SandboxSpec(inputs={"bundle": quarantine})) as sandbox:
        await sandbox.write("submission.csv", submission)
        return Printed.of(await sandbox.run(RUN, timeout=SECONDS, args=(str(folder), evaluator.name, *told)))
