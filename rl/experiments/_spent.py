"""``Spent``: CPU and wall seconds of an experiment, over all the commands that it took."""

from __future__ import annotations

import resource
import time
from pathlib import Path

from sandmle.files import write_text
from sandmle.record import VersionedRecord

__all__ = ["Spent"]


class _Record(VersionedRecord):
    """``spent.json``."""

    cpu_s: float = 0.0
    wall_s: float = 0.0


class Spent:
    """Counts from its making on, and adds what earlier commands kept.

    CPU seconds are those of this process and of its children that have ended: the code in a sandbox counts when its
    sandbox is closed. A command that is killed loses what it has not kept.
    """

    def __init__(self, path: Path) -> None:
        """Start counting; ``path`` is where it is kept."""
        self._path = path
        self._before = _Record.read(path) if path.exists() else _Record()
        self._cpu, self._wall = _cpu_seconds(), time.monotonic()

    @property
    def cpu_s(self) -> float:
        """CPU seconds."""
        return self._before.cpu_s + _cpu_seconds() - self._cpu

    @property
    def wall_s(self) -> float:
        """Wall seconds."""
        return self._before.wall_s + time.monotonic() - self._wall

    def keep(self) -> None:
        """Write down what was spent so far."""
        write_text(self._path, _Record(cpu_s=self.cpu_s, wall_s=self.wall_s).to_text())


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
