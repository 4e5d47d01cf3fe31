"""Live progress of a synthesis on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from sandmle.graphs.synthesis import Progress

__all__ = ["synthesis_progress"]


@contextmanager
def synthesis_progress(total: int) -> Iterator[Callable[[Progress], None]]:
    """A receiver of the batch's events that shows them while the context lasts."""
    console = Console(stderr=True)
    lines = _Lines(console, total)
    if not console.is_terminal:
        yield lines
        return
    columns = (
        TextColumn("tasks"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("tasks", total=total, at="")

        def show(event: Progress) -> None:
            if event.settled is not None:
                bars.advance(bar)
            else:
                bars.update(bar, at=f"task {event.slot + 1}: {event.node.replace('_', ' ')}")
            lines(event)

        yield show


class _Lines:
    """One line for each task, and for each candidate that is rejected."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total

    def __call__(self, event: Progress) -> None:
        if event.rejection is not None:
            rejection = event.rejection
            self._print(
                event.slot, f"candidate {rejection.candidate} rejected at {rejection.stage}: {rejection.reason}"
            )
        elif event.settled is not None:
            self._print(event.slot, event.settled.task_id or "no task: all draws were rejected")

    def _print(self, slot: int, text: str) -> None:
        self._console.print(f"[{slot + 1}/{self._total}] {text}", markup=False, highlight=False, soft_wrap=True)
