"""Live progress of a training on standard error: bars and the last steps on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

if TYPE_CHECKING:
    from sandmle.rl.trainer.training import StepDone

__all__ = ["train_progress"]

_ROWS = 12
"""Steps that the dashboard shows."""

_SHOWN: Mapping[str, tuple[str, ...]] = {
    "sft": ("nll", "grad_norm", "tokens"),
    "grpo": ("reward", "policy_loss", "entropy", "sampler_kl", "groups_kept", "groups", "rollouts_masked", "tokens"),
}
"""The metrics that are shown of a phase; the log has all."""


@contextmanager
def train_progress(now: Callable[[], float] = time.monotonic) -> Iterator[Callable[[StepDone], None]]:
    """A receiver of a training's steps that shows them while the context lasts.

    Args:
        now: clock in seconds.
    """
    console, pace = Console(stderr=True), _Pace(now)
    if not console.is_terminal:
        yield lambda step: console.print(_line(step, pace), markup=False, highlight=False, soft_wrap=True)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield _Dashboard(live, pace)


class _Pace:
    """How fast the steps of a phase come; steps that an earlier call made do not count."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last = now()
        self._spent: dict[str, list[float]] = {}

    def add(self, step: StepDone) -> str:
        """Note a step; how long the rest of its phase will take, in words."""
        spent = self._spent.setdefault(step.phase, [])
        spent.append(self._now() - self._last)
        self._last = self._now()
        left = (step.total - step.number) * sum(spent) / len(spent)
        hours, rest = divmod(round(left), 3600)
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d} left"


class _Dashboard:
    """A bar for the phase, and a table of its last steps."""

    def __init__(self, live: Live, pace: _Pace) -> None:
        self._live = live
        self._pace = pace
        self._phase = ""
        self._steps: deque[StepDone] = deque(maxlen=_ROWS)

    def __call__(self, step: StepDone) -> None:
        if step.phase != self._phase:
            self._phase = step.phase
            self._steps.clear()
        self._steps.append(step)
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=step.total, completed=step.number, width=30)
        head.add_row(step.phase, bar, f"{step.number}/{step.total}", self._pace.add(step))
        names = [name for name in _SHOWN[step.phase] if any(name in each.metrics for each in self._steps)]
        table = Table("step", *names, "tokens/s", box=None)
        for each in self._steps:
            cells = (_number(each.metrics.get(name)) for name in names)
            table.add_row(str(each.number), *cells, _number(_speed(each.metrics)))
        self._live.update(Group(head, table), refresh=True)


def _line(step: StepDone, pace: _Pace) -> str:
    shown = [f"{name} {step.metrics[name]:.4g}" for name in _SHOWN[step.phase] if name in step.metrics]
    speed = _speed(step.metrics)
    if speed is not None:
        shown.append(f"{speed:.4g} tokens/s")
    return f"[{step.phase} {step.number}/{step.total}] {' · '.join([*shown, pace.add(step)])}"


def _speed(metrics: Mapping[str, float]) -> float | None:
    """Tokens learnt from a second, rollouts included."""
    seconds = metrics.get("rollout_s", 0.0) + metrics.get("update_s", 0.0)
    return metrics["tokens"] / seconds if seconds and "tokens" in metrics else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
