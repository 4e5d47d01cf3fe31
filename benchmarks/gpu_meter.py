"""How busy a GPU is in each phase of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

__all__ = ["Meter"]


@dataclass
class Meter:
    """Looks four times a second whether the GPU computes, and keeps what each phase took."""

    device: str
    phases: dict[str, dict[str, float]] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[dict[str, float]]:
        """Measure a phase; what is put into its record stands in the table too. A phase may come again."""
        record = self.phases.setdefault(name, {"s": 0.0, "looks": 0.0, "busy": 0.0})
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(record, ended))
        started = time.monotonic()
        watch.start()
        try:
            yield record
        finally:
            ended.set()
            watch.join()
            record["s"] += time.monotonic() - started

    def _watch(self, record: dict[str, float], ended: threading.Event) -> None:
        while self.device == "cuda" and not ended.wait(0.25):
            try:
                record["busy"] += torch.cuda.utilization() / 100
            except (ModuleNotFoundError, RuntimeError) as error:
                print(f"the GPU's share of time is not measured: {error}")
                return
            record["looks"] += 1

    def table(self) -> dict[str, dict[str, float]]:
        """Of each phase: seconds, tokens and tokens a second, and the share of time in which the GPU computed."""
        found = {}
        for name, record in self.phases.items():
            line = {key: value for key, value in record.items() if key not in ("looks", "busy")}
            if "tokens" in line:
                line["tokens a second"] = line["tokens"] / line["s"]
            if record["looks"]:
                line["GPU busy"] = record["busy"] / record["looks"]
            found[name] = line
        return found
