"""``StepDone`` tells a step to whoever looks on; ``MetricsLog`` writes it as a line of JSON, and for TensorBoard."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from io import FileIO
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sandmle.files import disk_errors
from sandmle.rl.trainer._learner import Metrics

__all__ = ["MetricsLog", "OnStep", "StepDone"]


@dataclass(frozen=True)
class StepDone:
    """One step of a phase is made and on disk; ``total`` of them make the phase."""

    phase: Literal["sft", "grpo"]
    number: int
    total: int
    metrics: Metrics


OnStep = Callable[[StepDone], None]


class MetricsLog:
    """The log of one phase, ``sft`` or ``grpo``; lines of steps after ``keep`` are cut off when it opens."""

    def __init__(self, out: Path, phase: str, counter: str, keep: int) -> None:
        """A log that is opened by ``with``.

        Args:
            out: the training's folder.
            phase: names ``metrics-<phase>.jsonl``.
            counter: the metric that counts steps.
            keep: the last step whose line stays.
        """
        self._path = out / f"metrics-{phase}.jsonl"
        self._phase, self._counter, self._keep = phase, counter, keep
        self._lines: FileIO | None = None
        self._board: Any = None

    def __enter__(self) -> Self:
        """Cut off what a killed run wrote beyond its last checkpoint, and go on from there."""
        with disk_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = _whole_lines(self._path, self._counter, self._keep)
            self._lines = FileIO(self._path, "a")
            os.ftruncate(self._lines.fileno(), kept)
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self._path.parent / "tensorboard" / self._phase), purge_step=self._keep + 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files."""
        if self._lines is not None:
            self._lines.close()
        if self._board is not None:
            self._board.close()

    def add(self, metrics: Metrics) -> None:
        """Write one step, what is no number as null; synced when this returns."""
        assert self._lines is not None
        line = json.dumps({name: value if isfinite(value) else None for name, value in metrics.items()})
        with disk_errors(self._path):
            self._lines.write(line.encode() + b"\n")
            os.fsync(self._lines.fileno())
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(f"{self._phase}/{name}", value, metrics[self._counter])


def _whole_lines(path: Path, counter: str, keep: int) -> int:
    """Bytes of the whole lines up to step ``keep``."""
    size = 0
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        if not line.endswith(b"\n") or json.loads(line)[counter] > keep:
            break
        size += len(line)
    return size
