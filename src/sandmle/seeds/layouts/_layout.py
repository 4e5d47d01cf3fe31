"""How the items of a modality lie in a task's public folder, and the registry of all layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sandmle.errors import SandmleError
from sandmle.seeds._table import SeedTable
from sandmle.task import Modality

__all__ = ["LaidOut", "lay_out", "register"]


@dataclass(frozen=True)
class LaidOut:
    """A seed's data as they are published.

    Attributes:
        table: train and test as they stand in the CSV files.
        files: content of the other public files, by POSIX path.
        digest: hex hash of what the items hold, however files encode it; empty where the tables show everything.
        lines: what the brief says of the other files, a line each: name and description.
        note: what else a reader of these files must know; may be empty.
    """

    table: SeedTable
    files: dict[str, bytes] = field(default_factory=dict)
    digest: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    note: str = ""


Layout = Callable[[SeedTable], LaidOut]
_LAYOUTS: dict[Modality, Layout] = {}


def register(*modalities: Modality) -> Callable[[Layout], Layout]:
    """Make a layout that of ``modalities``."""

    def add(layout: Layout) -> Layout:
        _LAYOUTS.update(dict.fromkeys(modalities, layout))
        return layout

    return add


def lay_out(table: SeedTable, modality: Modality) -> LaidOut:
    """The public form of ``table``, whose test rows are there."""
    if modality not in _LAYOUTS:
        raise SandmleError(f"real data of modality {modality!r} have no layout yet")
    return _LAYOUTS[modality](table)
