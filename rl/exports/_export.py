"""``export_episodes``: select, write beside the target, publish as a whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sandmle.errors import BadInput
from sandmle.files import disk_errors, publish_folder
from sandmle.rl.exports import rllm, sft, verl
from sandmle.rl.exports._selection import Selection, selected_episodes
from sandmle.trajectory import Episode

__all__ = ["LAYOUTS", "Exported", "Layout", "export_episodes"]


class Layout(Protocol):
    """Writes episodes as another trainer reads them."""

    def __call__(self, episodes: Iterator[Episode], out: Path, selection: Selection) -> None:
        """Write all ``episodes`` into the empty folder ``out``.

        Raises:
            BadInput: the layout can't say what the selection asks for.
            EnvironmentProblem: a library is missing.
        """
        ...


LAYOUTS: Mapping[str, Layout] = {"rllm": rllm.write, "sft": sft.write, "verl": verl.write}


@dataclass
class Exported:
    """What became of the episodes; ``left_out`` counts by reason."""

    kept: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def told(self) -> str:
        """What was left out, in words; empty if nothing was."""
        return ", ".join(f"{count} {reason}" for reason, count in self.left_out.most_common())


def export_episodes(folder: Path, out: Path, layout: str, selection: Selection) -> Exported:
    """Write the episodes of a run, or of a training that keeps transcripts, in a layout.

    Args:
        folder: of the run or the training.
        out: a new folder, or one that holds nothing.
        layout: one of ``LAYOUTS``.
        selection: which episodes, and which of their replies.

    Raises:
        BadInput: nothing is left to export, ``out`` is in use, or the layout can't say what the selection asks for.
        EnvironmentProblem: the disk is full, or a library is missing.
    """
    if layout not in LAYOUTS:
        raise BadInput(f"no layout {layout}; there are {', '.join(LAYOUTS)}")
    found = Exported()
    with disk_errors(out):
        if out.exists() and any(out.iterdir()):
            raise BadInput(f"{out}: not empty; choose a new folder")
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as scratch:
            inside = Path(scratch) / out.name
            inside.mkdir()
            LAYOUTS[layout](_counted(selected_episodes(folder, selection, found.left_out), found), inside, selection)
            if not found.kept:
                raise BadInput(f"{folder}: no episode is left to export ({found.told or 'none was played'})")
            publish_folder(inside, out)
    return found


def _counted(episodes: Iterator[Episode], found: Exported) -> Iterator[Episode]:
    for episode in episodes:
        found.kept += 1
        yield episode
