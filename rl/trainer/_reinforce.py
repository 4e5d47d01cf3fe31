"""Reinforcement: play groups, learn from them, and write down enough to go on exactly.

Order on disk: the update's rows, then the line of metrics, then (every so many updates) the checkpoint. What lies
beyond the checkpoint that a resumed run starts from is cut off first, and in lockstep made again the same.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from sandmle.errors import EnvironmentProblem
from sandmle.rl.batches import make_examples
from sandmle.rl.checkpoints import PolicyWeights, TrainerState, prune_checkpoints, save
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.rollouts import Player
from sandmle.rl.rounds import take_rounds
from sandmle.rl.stream import GroupStream, Taken
from sandmle.rl.trainer._imitate import scaled_rate
from sandmle.rl.trainer._learner import Learner, Metrics
from sandmle.rl.trainer._settings import GrpoSettings
from sandmle.rl.trainer._tokens import write_rows

__all__ = ["Reinforcement", "checkpoint"]

_T = TypeVar("_T")


@dataclass
class Reinforcement:
    """A training with rewards, from ``state`` on; ``write`` puts an update's metrics on disk."""

    policy: PolicyWeights
    learner: Learner
    engine: LocalEngine
    player: Player
    settings: GrpoSettings
    state: TrainerState
    out: Path
    write: Callable[[Metrics], None]

    async def updates(self) -> AsyncGenerator[Metrics, None]:
        """Make the updates that are missing; one metrics record each. Closing it ends what still plays."""
        async with aclosing(self._rounds() if self.settings.batching == "lockstep" else self._stream()) as source:
            async for taken, rolled, seconds in source:
                yield await self._update(taken, rolled, seconds)

    async def _rounds(self) -> AsyncGenerator[tuple[Taken, int, float], None]:
        estimator, settings = self.settings.make_estimator(), self.settings
        while self.state.updates < settings.updates:
            started = time.monotonic()
            taken, rolled = await take_rounds(
                self.player.group,
                estimator,
                settings.groups,
                batch=settings.batch,
                version=self.state.updates,
                first=self.state.groups,
            )
            yield taken, rolled, time.monotonic() - started

    async def _stream(self) -> AsyncGenerator[tuple[Taken, int, float], None]:
        settings = self.settings
        stream = GroupStream(
            self.player.group,
            settings.make_estimator(),
            settings.groups,
            batch=settings.batch,
            version=self.state.updates,
            first=self.state.groups,
        )
        async with stream:
            while self.state.updates < settings.updates:
                started = time.monotonic()
                taken = await stream.take()
                yield taken, stream.next_index, time.monotonic() - started
                stream.advance()

    async def _update(self, taken: Taken, rolled: int, waited: float) -> Metrics:
        started = time.monotonic()
        _refuse_all_masked(taken, self.state.updates + 1)
        estimator, number = self.settings.make_estimator(), self.state.updates + 1
        examples = [each for group in taken.groups for each in make_examples(group, estimator)]
        learnt: Metrics = {}
        write_rows(self.out, number, taken.groups)
        if any(example.row.mask.any() for example in examples):
            rate = scaled_rate(self.settings.optimizer, number - 1, self.settings.updates)
            improve = partial(self.learner.improve, rate=rate, mini_batches=self.settings.mini_batches)
            async with self.engine.updating():
                learnt = await self._aside(partial(improve, examples, self.settings.loss))
        self.state = TrainerState(updates=number, groups=rolled)
        self.engine.weight_version = number
        metrics = {
            "update": number,
            **_tallied(taken),
            "rows": len(examples),
            "tokens": sum(int(example.row.mask.sum()) for example in examples),
            **learnt,
            "rollout_s": waited,
            "update_s": time.monotonic() - started,
        }
        self.write(metrics)
        await self._aside(partial(checkpoint, self.policy, self.learner, self.state, self.settings, self.out))
        return metrics

    async def _aside(self, work: Callable[[], _T]) -> _T:
        """What ``work`` gives; where groups run ahead it is done in a thread, so that no sandbox's time runs out."""
        return await asyncio.to_thread(work) if self.settings.groups.max_staleness else work()


def checkpoint(policy: PolicyWeights, learner: Learner, state: TrainerState, settings: GrpoSettings, out: Path) -> None:
    """Write a checkpoint if it is time for one."""
    number, folder = state.updates, out / "checkpoints"
    if number % settings.checkpoint_every and number != settings.updates:
        return
    save(policy, folder / f"step-{number:06d}", state, learner.state())
    if settings.keep_checkpoints is not None:
        prune_checkpoints(folder, settings.keep_checkpoints)


def _refuse_all_masked(taken: Taken, number: int) -> None:
    """Stop where no rollout came through: updates without any would go on to the end and teach nothing."""
    masked = taken.tally.masked + Counter(cut=taken.tally.cut)
    if masked and not taken.tally.counted:
        reasons = ", ".join(f"{reason} {count}" for reason, count in masked.most_common())
        raise EnvironmentProblem(
            f"update {number}: every rollout failed: nothing to learn from ({reasons}; `sandmle -v` tells more);"
            " mend it and run the same command again"
        )


def _tallied(taken: Taken) -> Metrics:
    tally = taken.tally
    return {
        "reward": tally.mean_reward if tally.mean_reward is not None else float("nan"),
        "groups": tally.groups,
        "groups_kept": tally.kept,
        "groups_single": tally.single,
        "groups_equal": tally.equal,
        "rollouts": tally.counted,
        "rollouts_masked": sum(tally.masked.values()),
        "rollouts_cut": tally.cut,
        "rows_stale": tally.stale_rows,
        "prefix_breaks": tally.breaks,
        "sampled": tally.tokens,
        "sandbox_runs": tally.runs,
        "sandbox_s": tally.sandbox_s,
    }
