"""Live progress of an evaluation on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from sandmle.eval.runner import EpisodeFinished, RunEvent, RunStarted
from sandmle.eval.runs import EpisodeSummary

__all__ = ["eval_progress"]


@contextmanager
def eval_progress() -> Iterator[Callable[[RunEvent], None]]:
    """A receiver of the runner's events that shows them while the context lasts."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress)


class _Lines:
    """One line an episode."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._done = 0

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunStarted(total=total, done=done):
                self._total, self._done = total, len(done)
                self._print(f"{total} episodes" + (f", {self._done} of them done before" if done else ""))
            case EpisodeFinished(episode=episode):
                self._done += 1
                self._print(f"[{self._done}/{self._total}] {_outcome(episode)}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class _Bars:
    """A bar for each scaffold and policy, with its running mean reward over unmasked episodes, and one for all."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[tuple[str, str], TaskID] = {}
        self._rewards: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._all = progress.add_task("all episodes", total=None)

    def __call__(self, event: RunEvent) -> None:
        match event:
            case RunStarted(total=total, done=done, pairs=pairs):
                self._progress.update(self._all, total=total)
                for pair in pairs:
                    self._bars[pair] = self._progress.add_task(escape(" ".join(pair)), total=total // len(pairs))
                for episode in done:
                    self._add(episode)
            case EpisodeFinished(episode=episode):
                if episode.masked:
                    self._progress.console.print(_outcome(episode), markup=False, highlight=False)
                self._add(episode)

    def _add(self, episode: EpisodeSummary) -> None:
        pair = episode.scaffold, episode.policy
        rewards = self._rewards[pair]
        if episode.reward is not None:
            rewards.append(episode.reward.total)
        mean = f" {sum(rewards) / len(rewards):.3f}" if rewards else ""
        self._progress.update(self._bars[pair], advance=1, description=escape(" ".join(pair)) + mean)
        self._progress.advance(self._all)


def _outcome(episode: EpisodeSummary) -> str:
    who = f"{episode.scaffold} {episode.policy} on {episode.task_id}: {episode.status.value}"
    if episode.reward is None or episode.grade is None:
        return f"{who}: {episode.reason}"
    verdict = episode.grade.medal or ("valid" if episode.grade.valid else f"invalid, {episode.grade.error}")
    return f"{who}, {verdict}, reward {episode.reward.total:.3f}"
