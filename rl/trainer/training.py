"""``atrain``: a whole training, from settings to a policy; the same call goes on from where it was stopped."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import aclosing
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sandmle.errors import BadInput
from sandmle.files import clear_leftovers, disk_errors, folder_lock, write_text
from sandmle.record import VersionedRecord
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl._torch import torch
from sandmle.rl.checkpoints import (
    PolicyWeights,
    TrainerState,
    latest_checkpoint,
    save,
)
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.rollouts import Player
from sandmle.rl.splits import split_of
from sandmle.rl.trainer._imitate import imitated, policy_texts
from sandmle.rl.trainer._learner import Learner
from sandmle.rl.trainer._metrics import MetricsLog, OnStep, StepDone
from sandmle.rl.trainer._reinforce import Reinforcement
from sandmle.rl.trainer._settings import GrpoSettings, TrainSettings
from sandmle.rl.trainer._start import start
from sandmle.rl.trainer._tokens import drop_rows_after
from sandmle.rl.trainer.sandboxes import borrowed
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task, load_tasks
from sandmle.trajectory import Episode

if TYPE_CHECKING:
    pass

__all__ = [
    "OnStep",
    "Reinforce",
    "StepDone",
    "TrainerName",
    "TrainingRecord",
    "atrain",
    "going_on",
    "keeper",
    "policy_texts",
    "reinforced",
    "training_tasks",
]

_LIBRARIES = ("sandmle", "torch", "transformers", "tokenizers", "numpy")


TrainerName = Literal["sandmle", "rllm"]


class TrainingRecord(VersionedRecord):
    """``train.json``: what was asked, of whose trainer, on which tasks (content hash by id), with which libraries."""

    settings: TrainSettings
    trainer: TrainerName = "sandmle"
    tasks: dict[str, str]
    versions: dict[str, str]


class Reinforce(Protocol):
    """The second phase of a training."""

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
        """Make the updates that are missing; the policy after them."""
        ...


async def atrain(
    settings: TrainSettings,
    out: Path,
    *,
    on_step: OnStep = lambda _: None,
    allow_unisolated: bool = False,
    backend: SandboxBackend | None = None,
    reinforce: Reinforce | None = None,
    trainer: TrainerName = "sandmle",
) -> Path:
    """Train, or go on training, into the folder ``out``.

    Args:
        settings: what to do.
        out: new, or the folder of the same training; the number of updates may have grown.
        on_step: called in the event loop after each step; must return quickly.
        allow_unisolated: run the policy's code even where this machine offers no isolation.
        backend: where it runs, which stays the caller's; None for a local one of its own.
        reinforce: the second phase; None for our own.
        trainer: whose it is; a training stays with it.

    Returns:
        The folder of the trained policy.

    Raises:
        BadInput: a config that can't work, or ``out`` holds another training or is in use.
        EnvironmentProblem: no isolation, disk full, or the extra ``train`` is missing.
    """
    torch.set_num_threads(settings.threads)
    tasks = training_tasks(settings)
    _refuse_impossible(settings, tasks)
    with disk_errors(out), folder_lock(out):
        for place in (out, out / "checkpoints", out / "sft-checkpoints"):
            clear_leftovers(place)
        _settle(out, settings, tasks, trainer)
        policy = await imitated(settings, out, on_step)
        if settings.grpo is not None:
            async with borrowed(backend, allow_unisolated) as sandboxes:
                phase = reinforce or reinforced
                policy = await phase(policy, settings, settings.grpo, tasks, out, on_step, sandboxes)
        save(policy, out / "policy", TrainerState(updates=_made(out)), None)
    return out / "policy"


def _made(out: Path) -> int:
    """Updates behind the weights of the last checkpoint."""
    last = latest_checkpoint(out / "checkpoints")
    return TrainerState.read(last / "trainer.json").updates if last is not None else 0


def training_tasks(settings: TrainSettings) -> list[Task]:
    """The tasks that a config trains on; none without a folder.

    Raises:
        BadInput: there are no such tasks, or no such split, or it is of other tasks.
    """
    if settings.tasks is None:
        return []
    tasks = load_tasks(settings.tasks)
    if settings.split is None:
        return tasks
    wanted = set(split_of(settings.tasks, settings.split, tasks).train)
    return [task for task in tasks if task.id in wanted]


def _refuse_impossible(settings: TrainSettings, tasks: list[Task]) -> None:
    if settings.sft is None and settings.grpo is None:
        raise BadInput("the config has neither [sft] nor [grpo]: nothing to do")
    if settings.model.path is None and settings.sft is None:
        raise BadInput("model.path is not set, and without [sft] a new policy has nothing to learn its tokens from")
    if settings.grpo is not None:
        load_pyarrow()
        if not tasks:
            raise BadInput("[grpo] needs tasks: set `tasks` to a folder of `sandmle synthesize`")


def _settle(out: Path, settings: TrainSettings, tasks: list[Task], trainer: TrainerName) -> None:
    """Write ``train.json``, or see that the one there is of the same training."""
    path = out / "train.json"
    asked = TrainingRecord(
        settings=settings,
        trainer=trainer,
        tasks={task.id: task.manifest.content_hash for task in tasks},
        versions={"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
    )
    if path.exists():
        known = TrainingRecord.read(path)
        if known.trainer != trainer:
            raise BadInput(f"{out}: holds a training of the trainer {known.trainer}; choose another folder for --out")
        if known.tasks != asked.tasks:
            raise BadInput(f"{out}: holds a training on other tasks; choose another folder for --out")
        if known.settings.identity != settings.identity:
            raise BadInput(f"{out}: holds a training with other settings; choose another folder for --out")
    elif any(not each.name.startswith(".") for each in out.iterdir()):
        raise BadInput(f"{out}: holds no training but other files; choose an empty or a new folder for --out")
    write_text(path, asked.to_text())


async def reinforced(
    policy: PolicyWeights,
    settings: TrainSettings,
    grpo: GrpoSettings,
    tasks: list[Task],
    out: Path,
    on_step: OnStep,
    backend: SandboxBackend,
) -> PolicyWeights:
    """See ``Reinforce``; with our own trainer."""
    policy, learner, state = going_on(policy, settings, grpo, out)
    engine = LocalEngine(policy.model, seed=settings.seed, batching=grpo.batching, max_batch=grpo.max_batch)
    engine.weight_version = state.updates
    player = Player(
        "train:policy", tasks, engine, policy.renderer, backend, grpo.rollouts, settings.seed, keeper(out, grpo)
    )
    with MetricsLog(out, "grpo", "update", keep=state.updates) as log:
        run = Reinforcement(policy, learner, engine, player, grpo, state, out, log.add)
        async with aclosing(run.updates()) as updates:
            async for metrics in updates:
                on_step(StepDone("grpo", int(metrics["update"]), grpo.updates, metrics))
    return policy


def going_on(
    policy: PolicyWeights, settings: TrainSettings, grpo: GrpoSettings, out: Path
) -> tuple[PolicyWeights, Learner, TrainerState]:
    """What the second phase begins with, after ``policy``, or goes on from its last checkpoint with.

    A KL penalty holds it to ``policy``, of which a copy is kept then.
    """
    reference = None if grpo.loss.kl is None else deepcopy(policy.model).requires_grad_(False)
    found = start(settings.model, settings.seed, lambda: policy, grpo.optimizer, out / "checkpoints", reference)
    drop_rows_after(out, found[-1].updates)
    return found


def keeper(out: Path, grpo: GrpoSettings) -> Callable[[Episode], None]:
    """Keeps an episode as a transcript where the settings ask for it."""

    def keep(episode: Episode) -> None:
        with disk_errors(out):
            write_text(out / "transcripts" / f"{episode.id}.json", episode.to_text())

    return keep if grpo.transcripts else lambda _: None
