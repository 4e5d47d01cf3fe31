"""Live progress of an evaluation on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from sandmle.cli._standing import Standing
from sandmle.eval.runner import EpisodeFinished, RunEvent, RunStarted, RunStopped
from sandmle.eval.runs import EpisodeSummary

__all__ = ["eval_progress"]


@contextmanager
def eval_progress(now: Callable[[], float] = time.monotonic) -> Iterator[Callable[[RunEvent], None]]:
    """A receiver of the runner's events that shows them while the context lasts.

    Args:
        now: clock in seconds.
    """
    console, standing = Console(stderr=True), Standing(now)
    if not console.is_terminal:
        yield _Lines(console, standing)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress, standing)


class _Lines:
    """One line an episode, which ends with how the run stands."""

    def __init__(self, console: Console, standing: Standing) -> None:
        self._console = console
        self._standing = standing

    def __call__(self, event: RunEvent) -> None:
        standing = self._standing
        standing.add(event)
        match event:
            case RunStarted(total=total, done=done):
                self._print(f"{total} episodes" + (f", {len(done)} of them done before" if done else ""))
            case EpisodeFinished(episode=episode):
                mean = standing.mean((episode.scaffold, episode.policy))
                shown = (_outcome(episode), mean and f"mean {mean}", standing.cost(), standing.time_left())
                self._print(f"[{standing.done}/{standing.total}] {' · '.join(filter(None, shown))}")
            case RunStopped():
                self._print(_stopped(event))

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Bars:
    """A bar for each scaffold and policy, with its running mean reward over unmasked episodes, and one for all."""

    def __init__(self, progress: Progress, standing: Standing) -> None:
        self._progress = progress
        self._standing = standing
        self._bars: dict[tuple[str, str], TaskID] = {}
        self._all = progress.add_task("all episodes", total=None, more="")

    def __call__(self, event: RunEvent) -> None:
        self._standing.add(event)
        match event:
            case RunStarted(total=total, done=done, pairs=pairs):
                self._progress.update(self._all, total=total)
                for pair in pairs:
                    self._bars[pair] = self._progress.add_task("", total=total // len(pairs), more="")
                    self._draw(pair)
                for episode in done:
                    self._advance(episode)
            case EpisodeFinished(episode=episode):
                if episode.masked:
                    self._progress.console.print(_outcome(episode), markup=False, highlight=False)
                self._advance(episode)
            case RunStopped():
                self._progress.console.print(_stopped(event), markup=False, highlight=False)

    def _advance(self, episode: EpisodeSummary) -> None:
        pair = episode.scaffold, episode.policy
        self._progress.advance(self._bars[pair])
        self._draw(pair)
        more = " · ".join(filter(None, (self._standing.cost(), self._standing.time_left())))
        self._progress.update(self._all, advance=1, more=more)

    def _draw(self, pair: tuple[str, str]) -> None:
        named = " ".join(filter(None, (escape(" ".join(pair)), self._standing.mean(pair))))
        self._progress.update(self._bars[pair], description=named, more=self._standing.cost(pair))


def _outcome(episode: EpisodeSummary) -> str:
    who = f"{episode.scaffold} {episode.policy} on {episode.task_id}: {episode.status.value}"
    if episode.reward is None or episode.grade is None:
        return f"{who}: {episode.reason}"
    verdict = episode.grade.medal or ("valid" if episode.grade.valid else f"invalid, {episode.grade.error}")
    return f"{who}, {verdict}, reward {episode.reward.total:.3f}"


def _stopped(event: RunStopped) -> str:
    left = f"{event.left} episode{'' if event.left == 1 else 's'} left"
    return f"stopped: {event.reason}; {left}: the same command with a larger limit goes on"
