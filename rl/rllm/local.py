"""rLLM's ``UnifiedTrainer`` over our embedded trainer, on this machine; needs rLLM.

    path = await atrain(settings, out, reinforce=Unified(), trainer="rllm")

Imitation, folders and resuming are those of ``sandmle.rl.trainer``; the loop of updates is rLLM's, and batches are
taken from the tasks in its order. With ``groups.max_staleness`` above 0 that is its asynchronous loop. In the other one
groups that have nothing to teach are kept, whatever ``groups`` says.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf
from rllm.data import Dataset
from rllm.trainer.unified_trainer import UnifiedTrainer

from sandmle.errors import BadInput
from sandmle.rl.checkpoints import PolicyWeights
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.rllm.backend import EmbeddedBackend, Learning
from sandmle.rl.rllm.compose import OURS_TO_SAY, PLAYED_BY_US
from sandmle.rl.rllm.flow import GradeFlow, PlayFlow
from sandmle.rl.rllm.grouping import Grouping
from sandmle.rl.rllm.playing import Playing
from sandmle.rl.rllm.serving import Serving
from sandmle.rl.rllm.tasks import task_rows
from sandmle.rl.rllm.trouble import Trouble
from sandmle.rl.rllm.unheeded import refuse_unheeded
from sandmle.rl.rllm.workflow import PlayWorkflow
from sandmle.rl.trainer import GrpoSettings, TrainSettings
from sandmle.rl.trainer.training import OnStep, StepDone, going_on, keeper
from sandmle.rl.trainer.updates import Metrics, MetricsLog
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task

__all__ = ["Advantages", "Unified", "Way", "unified_config"]

Advantages = Literal["ours", "rllm"]
Way = Literal["flow", "workflow"]

_NO_END = 1_000_000
"""Passes over the tasks: groups that are dropped are replaced until all updates are made."""


@dataclass(frozen=True)
class Unified:
    """The second phase of a training, in rLLM's trainer; see ``sandmle.rl.trainer.training.Reinforce``.

    Attributes:
        advantages: by the estimator of the settings, or by rLLM's GRPO.
        way: how rLLM plays: an agent flow through its gateway, or a Workflow over its rollout engine.
        on_batch: called with rLLM's own state after each update, such as by a test.
    """

    advantages: Advantages = "ours"
    way: Way = "flow"
    on_batch: Callable[[Any], None] = lambda _: None

    async def __call__(
        self,
        policy: PolicyWeights,
        settings: TrainSettings,
        grpo: GrpoSettings,
        tasks: list[Task],
        out: Path,
        on_step: OnStep,
        backend: SandboxBackend,
    ) -> PolicyWeights:
        """Make the updates that are missing.

        Raises:
            BadInput: a batch has more tasks than there are, or rLLM's loop can't do what the settings ask for.
        """
        refuse_unheeded(grpo)
        if len(tasks) < grpo.batch:
            raise BadInput(
                f"grpo.batch = {grpo.batch}: rLLM takes that many different tasks, and there are {len(tasks)}"
            )
        policy, learner, state = going_on(policy, settings, grpo, out)
        if state.updates >= grpo.updates:
            return policy
        streams = grpo.groups.max_staleness > 0
        engine = LocalEngine(policy.model, seed=settings.seed, max_batch=grpo.max_batch)
        engine.weight_version = state.updates
        with MetricsLog(out, "grpo", "update", keep=state.updates) as log:

            def tell(metrics: Metrics) -> None:
                log.add(metrics)
                on_step(StepDone("grpo", int(metrics["update"]), grpo.updates, metrics))

            playing = Playing(
                name="train:policy",
                weights=str(out),
                settings=grpo.rollouts,
                tasks=len(tasks),
                seed=settings.seed,
                sandboxes=backend,
                renderer=policy.renderer,
                on_episode=keeper(out, grpo),
                first=ceil(state.groups / len(tasks)),
            )
            if streams:
                playing.trouble = Trouble(grpo.batch * grpo.rollouts.group)

            def begin(epoch: int) -> None:
                playing.epoch = None if streams else epoch

            serving = Serving(policy, engine)
            ours = grpo.make_estimator() if self.advantages == "ours" else None
            learning = Learning(policy, learner, serving, grpo, out, state, tell, self.on_batch, ours, begin)
            await _fit(self._trainer(learning, playing, settings.seed, tasks), playing)
        return policy

    def _trainer(self, learning: Learning, playing: Playing, seed: int, tasks: list[Task]) -> UnifiedTrainer:
        ways: dict[Way, dict[str, Any]] = {
            "flow": {"agent_flow": PlayFlow(playing), "evaluator": GradeFlow()},
            "workflow": {"workflow_class": PlayWorkflow, "workflow_args": {"playing": playing}},
        }
        return UnifiedTrainer(
            backend_cls=EmbeddedBackend,
            config=unified_config(learning.settings, seed, len(tasks), precomputed=learning.estimator is not None),
            train_dataset=Dataset(task_rows(tasks), name="sandmle", split="train"),
            backend_args={"learning": learning},
            traj_grouping_hook=Grouping(learning.estimator),
            **ways[self.way],
        )


async def _fit(trainer: UnifiedTrainer, playing: Playing) -> None:
    others = asyncio.all_tasks()
    try:
        if playing.trouble is None:
            await trainer.fit_async()
        else:
            await playing.trouble.unless(trainer.fit_async())
    finally:
        await playing.aclose()
        await _end_rest(asyncio.all_tasks() - others)
        trainer.shutdown()


async def _end_rest(begun: set[asyncio.Task[Any]]) -> None:
    """End what rLLM's asynchronous loop leaves running: it would play on as long as the caller's event loop lives."""
    left = [task for task in begun if _name(task).startswith(f"{UnifiedTrainer.__name__}.")]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _name(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", "")


def unified_config(grpo: GrpoSettings, seed: int, tasks: int, *, precomputed: bool) -> Any:
    """The configuration of rLLM: its defaults, and what our settings say."""
    defaults = OmegaConf.load(str(files("rllm.trainer.config").joinpath("rllm", "base.yaml")))
    config = OmegaConf.create({"rllm": defaults, "model": {"name": "policy"}})
    sampling = grpo.rollouts.sampling
    said = {
        "rllm.data.seed": seed,
        "rllm.data.train_batch_size": grpo.batch,
        "rllm.data.max_prompt_length": sampling.max_tokens,
        "rllm.data.max_response_length": sampling.max_tokens,
        "rllm.rollout.n": grpo.rollouts.group,
        "rllm.rollout.train.temperature": sampling.temperature,
        "rllm.rollout.val.temperature": sampling.temperature,
        "rllm.algorithm.use_precomputed_advantage": precomputed,
        "rllm.workflow.n_parallel_tasks": grpo.batch * grpo.rollouts.group,
        "rllm.trainer.total_batches": grpo.updates,
        "rllm.trainer.total_epochs": ceil(grpo.updates / (tasks // grpo.batch)),
        "rllm.trainer.test_freq": -1,
        "rllm.trainer.save_freq": -1,
        "rllm.trainer.project_name": "sandmle",
        "rllm.gateway.port": _free_port(),
        **PLAYED_BY_US,
        **_streaming(grpo),
    }
    for key, value in said.items():
        OmegaConf.update(config, key, value)
    for key in OURS_TO_SAY:
        table, _, name = key.rpartition(".")
        del OmegaConf.select(config, table)[name]
    return config


def _streaming(grpo: GrpoSettings) -> dict[str, Any]:
    """The asynchronous mode of rLLM, in which groups run ahead and each rollout is handed over as it ends.

    Weights change while rollouts go on, so none that is stuck holds up an update. rLLM's loop stops when the number of
    the next update is that of the last. Advantages of ours take the place of rLLM's in our backend: there it calls no
    hook.
    """
    staleness = grpo.groups.max_staleness
    if not staleness:
        return {}
    return {
        "rllm.data.train_batch_size": 1,
        "rllm.async_training.enable": True,
        "rllm.async_training.mini_batch_size": grpo.batch,
        "rllm.async_training.fwd_bwd_group_size": grpo.batch,
        "rllm.async_training.staleness_threshold": staleness,
        "rllm.async_training.partial_rollout": True,
        "rllm.rejection_sample.filter_uniform_groups": grpo.groups.flat == "drop",
        "rllm.algorithm.use_precomputed_advantage": False,
        "rllm.workflow.n_parallel_tasks": (1 + staleness) * grpo.batch * grpo.rollouts.group,
        "rllm.trainer.total_batches": grpo.updates + 1,
        "rllm.trainer.total_epochs": _NO_END,
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
