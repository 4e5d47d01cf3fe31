"""Imitation (SFT): which episodes are learnt from, the epochs over their rows, and the phase of a training."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, cos, pi
from pathlib import Path

import numpy as np

from sandmle.agents.chat.tokens import READINGS, Reading, Renderer
from sandmle.errors import BadInput
from sandmle.eval.runs import EpisodeSummary, read_run
from sandmle.rl.checkpoints import PolicyWeights, TrainerState, new_policy, prune_checkpoints, save
from sandmle.rl.rows import demonstration_rows
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.rl.trainer._learner import Learner, Metrics
from sandmle.rl.trainer._metrics import MetricsLog, OnStep, StepDone
from sandmle.rl.trainer._settings import OptimizerSettings, SftSettings, TrainSettings
from sandmle.rl.trainer._start import load, start
from sandmle.rl.types import Row
from sandmle.trajectory import Episode

__all__ = ["Demonstrations", "imitate", "imitated", "policy_texts", "read_episodes", "rows_of", "scaled_rate"]


@dataclass(frozen=True)
class Demonstrations:
    """The rows to imitate.

    Attributes:
        too_long: rows that were left out for their length.
    """

    rows: tuple[Row, ...]
    too_long: int


def read_episodes(runs: Sequence[Path], min_reward: float, *, valid: bool = False) -> Iterator[Episode]:
    """The transcripts worth imitating, run by run, in the order of the runs' reports.

    Raises:
        BadInput: a folder is no run, or a transcript is missing or broken.
    """
    for folder in runs:
        run = read_run(folder)
        for summary in run.episodes:
            if _worth(summary, min_reward, valid):
                yield Episode.read(run.folder / "transcripts" / f"{summary.id}.json")


def _worth(summary: EpisodeSummary, min_reward: float, valid: bool) -> bool:
    if summary.masked or summary.leaked:
        return False
    reward = summary.reward.total if summary.reward else 0.0
    return reward >= min_reward and (not valid or (summary.grade is not None and summary.grade.valid))


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


async def imitated(settings: TrainSettings, out: Path, on_step: OnStep) -> PolicyWeights:
    """The policy after imitation; read back where that is done already."""
    model = settings.model
    if settings.sft is None:
        assert model.path is not None
        return load(model.path, model)
    if not (out / "sft" / "trainer.json").exists():
        await _imitate(settings, settings.sft, out, on_step)
    return load(out / "sft", model)


async def _imitate(settings: TrainSettings, sft: SftSettings, out: Path, on_step: OnStep) -> None:
    episodes, checkpoints = list(read_episodes(sft.runs, sft.min_reward, valid=sft.valid)), out / "sft-checkpoints"
    policy, learner, state = start(
        settings.model, settings.seed, lambda: _new(settings, episodes), sft.optimizer, checkpoints
    )
    rows = rows_of(episodes, policy.renderer, sft).rows
    with MetricsLog(out, "sft", "step", keep=state.updates) as log:
        for metrics in imitate(learner, rows, sft, settings.seed, done=state.updates):
            step = int(metrics["step"])
            log.add(metrics)
            if step % sft.checkpoint_every == 0:
                save(policy, checkpoints / f"step-{step:06d}", TrainerState(updates=step), learner.state())
                prune_checkpoints(checkpoints, 1)
            on_step(StepDone("sft", step, int(metrics["steps"]), metrics))
            await asyncio.sleep(0)  # which is where Ctrl-C is heard
    save(policy, out / "sft", TrainerState(), None)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _new(settings: TrainSettings, episodes: list[Episode]) -> PolicyWeights:
    """The policy before imitation."""
    model = settings.model
    if model.path is not None:
        return load(model.path, model)
    tokenizer = train_tokenizer(policy_texts(episodes, model.reading), model.vocabulary, model.pieces)
    return new_policy(model.tiny, tokenizer, settings.seed, model.reading)


def policy_texts(episodes: list[Episode], reading: Reading) -> Iterator[str]:
    """What a policy reads and writes."""
    for turn in (turn for episode in episodes for turn in episode.turns):
        yield from (shown for message in turn.messages if (shown := READINGS[reading](message)) is not None)
        yield turn.reply
