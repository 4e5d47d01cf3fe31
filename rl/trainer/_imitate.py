"""Imitation (SFT): which episodes are learnt from, and the epochs over their rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, cos, pi
from pathlib import Path

import numpy as np

from sandmle.agents.chat.tokens import Renderer
from sandmle.errors import BadInput
from sandmle.eval.runs import EpisodeSummary, read_run
from sandmle.rl.rows import demonstration_rows
from sandmle.rl.trainer._learner import Learner, Metrics
from sandmle.rl.trainer._settings import OptimizerSettings, SftSettings
from sandmle.rl.types import Row
from sandmle.trajectory import Episode

__all__ = ["Demonstrations", "imitate", "read_episodes", "rows_of", "scaled_rate"]


@dataclass(frozen=True)
class Demonstrations:
    """The rows to imitate.

    Attributes:
        too_long: rows that were left out for their length.
    """

    rows: tuple[Row, ...]
    too_long: int


def read_episodes(runs: Sequence[Path], min_reward: float) -> Iterator[Episode]:
    """The transcripts worth imitating, run by run, in the order of the runs' reports.

    Raises:
        BadInput: a folder is no run, or a transcript is missing or broken.
    """
    for folder in runs:
        run = read_run(folder)
        for summary in run.episodes:
            if _worth(summary, min_reward):
                yield Episode.read(run.folder / "transcripts" / f"{summary.id}.json")


def _worth(summary: EpisodeSummary, min_reward: float) -> bool:
    valid = summary.grade is not None and summary.grade.valid
    reward = summary.reward.total if summary.reward else 0.0
    return not summary.masked and not summary.leaked and reward >= min_reward and (valid or min_reward == 0)


def rows_of(episodes: Sequence[Episode], renderer: Renderer, settings: SftSettings) -> Demonstrations:
    """The rows of demonstrations that are short enough.

    Raises:
        BadInput: none is left.
    """
    found = [
        row
        for episode in episodes
        for row in demonstration_rows(episode, renderer, learn_failed_steps=settings.learn_failed_steps).rows
    ]
    kept = tuple(row for row in found if len(row) <= settings.max_tokens and row.mask.any())
    if not kept:
        raise BadInput(
            f"no demonstration is left to imitate: {len(episodes)} episodes, {len(found)} rows, of which"
            f" {sum(len(row) > settings.max_tokens for row in found)} are longer than {settings.max_tokens} tokens"
        )
    return Demonstrations(kept, sum(len(row) > settings.max_tokens for row in found))


def imitate(
    learner: Learner, rows: Sequence[Row], settings: SftSettings, seed: int, *, done: int = 0
) -> Iterator[Metrics]:
    """The epochs, from the step after ``done`` on: one metrics record a step.

    Each epoch takes the rows in an order of its own.
    """
    per_epoch = ceil(len(rows) / settings.batch)
    steps = per_epoch * settings.epochs
    for step in range(done, steps):
        epoch, place = divmod(step, per_epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(rows))
        batch = [rows[index] for index in order[place * settings.batch : (place + 1) * settings.batch]]
        rate = scaled_rate(settings.optimizer, step, steps)
        tokens = sum(int(row.mask.sum()) for row in batch)
        started = time.monotonic()
        learnt = learner.imitate(batch, rate=rate)
        yield {"step": step + 1, "steps": steps, "tokens": tokens, **learnt, "update_s": time.monotonic() - started}


def scaled_rate(settings: OptimizerSettings, step: int, steps: int) -> float:
    """The factor on the learning rate in step ``step`` of ``steps``: a linear warm-up, then level or a cosine."""
    warm = settings.warmup * steps
    if step < warm:
        return (step + 1) / (warm + 1)
    if not settings.decay:
        return 1.0
    done = (step - warm) / max(steps - warm, 1)
    return 0.1 + 0.9 * (1 + cos(pi * done)) / 2
