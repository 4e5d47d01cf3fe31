"""Our embedded trainer as a backend of rLLM, so that its unmodified ``UnifiedTrainer`` runs on a CPU; needs rLLM.

    rLLM: batch ─▶ rollouts ─▶ groups ─▶ advantages ─▶ update          its loop, gateway, grouping, filtering
    here:          Serving               (as settings say)  Learner    our engine, rows, masks, loss, checkpoints

Rows and masks are those of our own episodes; advantages are those that rLLM left in its steps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rllm.data.utils import interleave_tasks
from rllm.engine.rollout import RolloutEngine
from rllm.trainer.backend_protocol import BackendProtocol

from sandmle.rl.algorithms import Estimator
from sandmle.rl.checkpoints import PolicyWeights, TrainerState
from sandmle.rl.groups import BASELINE, drop_stale, gather_groups
from sandmle.rl.rllm.grouping import give_advantages
from sandmle.rl.rllm.serving import Serving
from sandmle.rl.rows import sampled_rows
from sandmle.rl.trainer import GrpoSettings
from sandmle.rl.trainer.updates import Learner, Metrics, checkpoint, scaled_rate, write_rows
from sandmle.rl.types import Example, Group, Rollout, Row
from sandmle.trajectory import EpisodeStatus

__all__ = ["EmbeddedBackend", "Learning", "examples_of"]


@dataclass
class Learning:
    """What the backend works on.

    Attributes:
        state: updates made so far; the next one is the one after.
        on_update: called with the metrics of each update, when it is on disk.
        on_batch: called with rLLM's own state of each update.
        estimator: of the advantages; None leaves them to rLLM.
        on_epoch: called with the number of each pass over the tasks, before it begins or goes on.
    """

    policy: PolicyWeights
    learner: Learner
    serving: Serving
    settings: GrpoSettings
    out: Path
    state: TrainerState = field(default_factory=TrainerState)
    on_update: Callable[[Metrics], None] = lambda _: None
    on_batch: Callable[[Any], None] = lambda _: None
    estimator: Estimator | None = None
    on_epoch: Callable[[int], None] = lambda _: None


class _Engine(RolloutEngine):  # type: ignore[misc]
    """Our engine as rLLM's: behind an address for its gateway, tokens in and out for its Workflows."""

    def __init__(self, serving: Serving, settings: GrpoSettings, stop: int) -> None:
        super().__init__()
        self._serving, self._sampling, self._stop = serving, settings.rollouts.sampling, stop
        self._calls = 0
        self.server_addresses = [serving.address]
        self.weight_version = serving.engine.weight_version

    @property
    def supports_token_in_token_out(self) -> bool:
        return True

    async def get_token_output_from_token_input(
        self,
        token_input: list[int],
        *,
        max_tokens: int,
        **_: Any,
    ) -> SimpleNamespace:
        settings = self._sampling.model_copy(update={"max_new_tokens": max_tokens})
        self._calls += 1
        key = f"{self.weight_version}/{self._calls}"
        sample = await self._serving.run(self._serving.engine.sample(tuple(token_input), settings, self._stop, key=key))
        return SimpleNamespace(token_ids=list(sample.ids), log_probs=list(sample.logprobs))


_Engine.__name__ = "VerlEngine"
"""rLLM's gateway asks an engine behind an address only if its class has this name."""


class EmbeddedBackend(BackendProtocol[Any, Any]):  # type: ignore[misc]
    """One gradient step an update on this machine."""

    name = "sandmle"

    def __init__(self, config: Any, *, learning: Learning) -> None:
        """A backend for one training."""
        super().__init__(config)
        self._learning = learning
        self._stale = 0
        self.rollout_engine: _Engine | None = None

    def init_rollout_engine(self, **_: Any) -> _Engine:
        """The engine that samples from the weights in training."""
        learning = self._learning
        self.rollout_engine = _Engine(learning.serving, learning.settings, learning.policy.renderer.stop)
        return self.rollout_engine

    def validate_config(self) -> None:
        """Nothing: the configuration is made by ``starting``."""

    def shutdown(self) -> None:
        """Stop serving."""
        self._learning.serving.close()

    async def generate_episodes(
        self,
        batch: Any,
        agent_workflow_engine: Any,
        is_validation: bool = False,
        **_: Any,
    ) -> Any:
        """Each task of the batch ``rollout.n`` times."""
        rollout = self.config.rllm.rollout
        tasks, ids = interleave_tasks(batch, rollout.n_val if is_validation else rollout.n)
        return await agent_workflow_engine.execute_tasks(tasks, ids, is_validation=is_validation)

    def transform_to_backend_batch(self, trainer_state: Any, **_: Any) -> list[Group]:
        """Our groups of the episodes that rLLM kept, without rows that are too old to learn from.

        Where groups run ahead, advantages of ours are those among what is left; a lone rollout has none.
        """
        learning = self._learning
        theirs, staleness = trainer_state.trajectory_groups, learning.settings.groups.max_staleness
        groups = [_group_of(group) for group in theirs]
        fresh = [drop_stale(group, learning.state.updates - staleness) for group in groups]
        self._stale = _rows(groups) - _rows(fresh)
        if learning.estimator is None or not staleness:
            return fresh
        return [ours for ours, group in zip(fresh, theirs, strict=True) if _judged(ours, group, learning.estimator)]

    async def process_backend_batch(self, trainer_state: Any, **_: Any) -> None:
        """Nothing: the sampler's log-probabilities are in the rows."""

    async def compute_advantages(self, trainer_state: Any, algorithm_config: Any, **_: Any) -> None:
        """As rLLM does it."""
        await super().compute_advantages(trainer_state, algorithm_config)

    async def update_policy(self, trainer_state: Any, **_: Any) -> None:
        """One gradient step, while nothing is sampled."""
        started = time.monotonic()
        learning, number = self._learning, self._learning.state.updates + 1
        examples = examples_of(trainer_state.backend_batch, trainer_state.trajectory_groups)
        write_rows(learning.out, number, trainer_state.backend_batch)
        learnt: Metrics = {}
        if any(example.row.mask.any() for example in examples):
            learnt = await learning.serving.run(self._learn(examples, number))
        trainer_state.metrics.update(
            {
                "rows": len(examples),
                "rows_stale": self._stale,
                "tokens": sum(int(example.row.mask.sum()) for example in examples),
                **learnt,
                "update_s": time.monotonic() - started,
            }
        )

    async def _learn(self, examples: list[Example], number: int) -> Metrics:
        learning, settings = self._learning, self._learning.settings
        async with learning.serving.engine.updating():
            rate = scaled_rate(settings.optimizer, number - 1, settings.updates)
            improve = partial(learning.learner.improve, rate=rate, mini_batches=settings.mini_batches)
            learnt = await asyncio.to_thread(improve, examples, settings.loss)
            learning.serving.engine.weight_version = number
        return learnt

    async def on_train_start(self, trainer_state: Any) -> None:
        """Go on after the updates that were made before."""
        trainer_state.global_step = trainer_state.weight_version = self._learning.state.updates
        if trainer_state.train_dataloader is not None:
            groups, batch = self._learning.state.groups, self.config.rllm.data.train_batch_size
            epoch, done = divmod(groups // batch, len(trainer_state.train_dataloader))
            trainer_state.train_dataloader.load_state_dict({"epoch": epoch, "cursor": done * batch})

    async def on_policy_updated(self, trainer_state: Any) -> None:
        """Name the weights by our count of updates; rLLM's own begins anew when a training is resumed."""
        trainer_state.weight_version = self._learning.state.updates + 1

    async def on_epoch_start(self, trainer_state: Any) -> None:
        """Tell which pass over the tasks it is."""
        self._learning.on_epoch(trainer_state.epoch)

    def _drawn(self, trainer_state: Any) -> int:
        """Groups drawn so far; where they run ahead, those that were dropped or still play included."""
        learning, loader = self._learning, trainer_state.train_dataloader
        if not learning.settings.groups.max_staleness:
            return learning.state.groups + learning.settings.batch
        place = loader.state_dict()
        return int(place["epoch"] * len(loader) + place["cursor"])

    async def on_batch_end(self, trainer_state: Any) -> None:
        """Count the update, whether or not there was anything to learn, and put it on disk."""
        learning, number = self._learning, trainer_state.global_step
        learning.state = TrainerState(updates=number, groups=self._drawn(trainer_state))
        assert self.rollout_engine is not None
        self.rollout_engine.weight_version = learning.serving.engine.weight_version = number
        learning.on_update({"update": number, **_tallied(trainer_state), **_numbers(trainer_state.metrics)})
        checkpoint(learning.policy, learning.learner, learning.state, learning.settings, learning.out)
        learning.on_batch(trainer_state)


def _rows(groups: list[Group]) -> int:
    return sum(len(rollout.rows) for group in groups for rollout in group.rollouts)


def _judged(ours: Group, theirs: Any, estimator: Estimator) -> bool:
    """Give our advantages to the trajectories of the rollouts that are left; False if those are too few for any."""
    left = {rollout.id for rollout in ours.rollouts}
    trajectories = [each for each in theirs.trajectories if each.uid in left]
    if len(trajectories) < BASELINE:
        return False
    give_advantages(trajectories, estimator)
    return True


def _group_of(group: Any) -> Group:
    kept = [each.output for each in group.trajectories]
    (found,) = gather_groups(Rollout.of_episode(each, *sampled_rows(each)) for each in kept)
    return found


def examples_of(groups: list[Group], trajectory_groups: Any) -> list[Example]:
    """The rows of our groups, each token with the advantage that rLLM left in the step of its turn."""
    of_turns = {
        each.uid: [step.advantage for step in each.steps] for group in trajectory_groups for each in group.trajectories
    }
    return [
        Example(row, _spread(row, of_turns[rollout.id]))
        for group in groups
        for rollout in group.rollouts
        for row in rollout.rows
    ]


def _spread(row: Row, advantages: list[Any]) -> np.ndarray:
    found = np.zeros(len(row))
    for turn in np.unique(row.turns[row.mask]):
        found[row.mask & (row.turns == turn)] = advantages[turn]
    return found


def _tallied(trainer_state: Any) -> Metrics:
    groups, episodes = trainer_state.backend_batch or [], trainer_state.episodes or []
    played = [trajectory.output for episode in episodes for trajectory in episode.trajectories]
    rollouts = [Rollout.of_episode(each) for each in played]
    rewards = [rollout.reward or 0.0 for rollout in rollouts if rollout.counted]
    cut = sum(each.status is EpisodeStatus.CANCELLED for each in played)
    return {
        "reward": float(np.mean(rewards)) if rewards else float("nan"),
        "groups": len({episode.task_id for episode in episodes}),
        "groups_kept": len(groups),
        "rollouts": len(rewards),
        "rollouts_masked": len(episodes) - len(rewards) - cut,
        "rollouts_cut": cut,
        "sampled": sum(len(turn.tokens.completion_ids) for each in played for turn in each.turns if turn.tokens),
        "sandbox_runs": sum(rollout.runs for rollout in rollouts),
        "sandbox_s": sum(rollout.sandbox_s for rollout in rollouts),
        "rollout_s": trainer_state.timing_dict.get("step", 0.0) - trainer_state.metrics.get("update_s", 0.0),
    }


def _numbers(metrics: Any) -> Metrics:
    return {name: float(value) for name, value in metrics.items() if "/" not in name}
