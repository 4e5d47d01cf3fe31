"""Live progress of a synthesis on standard error: a funnel and a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sandmle.cli._words import spell_cost, spell_time
from sandmle.graphs.synthesis import REACHED, Progress

__all__ = ["Funnel", "synthesis_progress"]

TOP_REASONS = 4
LABELS = {"leak_free": "leak-free"}


class Funnel:
    """How many candidates came how far, why others did not, at what rate, and when the batch will end.

    Args:
        total: slots of the batch.
        now: clock in seconds.
    """

    def __init__(self, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._now = now
        self._start = now()
        self._reached: Counter[str] = Counter()
        self._furthest: dict[int, int] = {}
        self._reasons: Counter[str] = Counter()
        self._earlier = 0
        self._spent: dict[int, tuple[int, float]] = {}
        self._spent_on_settled = 0.0
        self.settled = 0

    def add(self, event: Progress) -> None:
        """Count an event of the batch."""
        if event.node == "data_strategist":
            self._furthest[event.slot] = -1
        if event.reached is not None:
            last = REACHED.index(event.reached)
            for stage in REACHED[self._furthest.get(event.slot, -1) + 1 : last + 1]:
                self._reached[stage] += 1
            self._furthest[event.slot] = max(last, self._furthest.get(event.slot, -1))
        if event.discoverable:
            self._reached["discoverable"] += 1
        if event.rejection is not None:
            self._reasons[f"{event.rejection.stage}: {event.rejection.reason.partition(':')[0]}"] += 1
        if event.tokens is not None:
            self._spent[event.slot] = (event.tokens, event.money or 0.0)
        if event.settled is not None:
            self._spent[event.slot] = (event.settled.tokens, event.settled.money)
            self._spent_on_settled += event.settled.money
            self.settled += 1
            self._earlier += event.slot not in self._furthest

    def stages(self) -> list[tuple[str, int]]:
        """The stages in order with how many candidates reached them in this run."""
        order = (*REACHED[:-1], "discoverable", REACHED[-1])
        return [(LABELS.get(stage, stage), self._reached[stage]) for stage in order]

    def reasons(self) -> list[tuple[str, int]]:
        """The commonest reasons to give a candidate up."""
        return self._reasons.most_common(TOP_REASONS)

    def pace(self) -> str:
        """Slots done, rate and time left, in one line; slots of earlier runs don't count for the rate."""
        passed, done = self._now() - self._start, self.settled - self._earlier
        line = f"{self.settled}/{self._total} tasks"
        if not done or passed <= 0:
            return line
        left = (self._total - self.settled) * passed / done
        return f"{line}, {60 * done / passed:.1f} a minute, about {spell_time(left)} left"

    def cost(self) -> str:
        """Tokens and money of language models so far, and what the batch will cost; empty where none was asked."""
        tokens, money = (sum(column) for column in zip(*self._spent.values(), strict=True)) if self._spent else (0, 0.0)
        line = spell_cost(tokens, money)
        if not self._spent_on_settled or self.settled == self._total:
            return line
        return f"{line}, about {self._spent_on_settled / self.settled * self._total:.2f} for all {self._total}"


@contextmanager
def synthesis_progress(total: int) -> Iterator[Callable[[Progress], None]]:
    """A receiver of the batch's events that shows them while the context lasts."""
    console = Console(stderr=True)
    lines, funnel = _Lines(console, total), Funnel(total)
    if not console.is_terminal:

        def count(event: Progress) -> None:
            funnel.add(event)
            lines(event)

        yield count
        console.print(_plain(funnel), markup=False, highlight=False, soft_wrap=True)
        return
    with Live(_picture(funnel), console=console, transient=True, auto_refresh=False) as live:

        def show(event: Progress) -> None:
            funnel.add(event)
            lines(event)
            live.update(_picture(funnel), refresh=True)

        yield show
    console.print(_plain(funnel), markup=False, highlight=False, soft_wrap=True)


def _plain(funnel: Funnel) -> str:
    return "funnel: " + ", ".join(f"{count} {stage}" for stage, count in funnel.stages())


def _picture(funnel: Funnel) -> Group:
    drawn = max(dict(funnel.stages())["drawn"], 1)
    table = Table.grid(padding=(0, 1))
    for stage, count in funnel.stages():
        table.add_row(stage, "█" * round(30 * count / drawn), str(count))
    reasons = [Text(f"  {count} x {reason}", style="dim") for reason, count in funnel.reasons()]
    cost = [Text(line)] if (line := funnel.cost()) else []
    return Group(table, Text(funnel.pace()), *cost, *reasons)


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
