"""The measurements of real tasks that ship with sandmle."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sandmle.eval.acceptance import Measured
from sandmle.record import VersionedRecord

__all__ = ["MeasuredTasks", "published"]


class MeasuredTasks(VersionedRecord):
    """``measured.json``: what was measured of every published real task, by its id."""

    tasks: dict[str, Measured]


def published() -> MeasuredTasks:
    """The measurements that ship with sandmle."""
    return MeasuredTasks.read(Path(str(files("sandmle.eval.reference").joinpath("measured.json"))))
