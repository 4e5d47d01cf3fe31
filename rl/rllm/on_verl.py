"""A recipe's stages, started: verl's SFT trainer by torchrun, rLLM's unified trainer on verl; needs both and GPUs.

    arguments of the dry run ─▶ Hydra ─▶ configuration ─┐
    tasks ─▶ rows of a dataset, Playing ─▶ agent flow ───┴─▶ rLLM's AgentTrainer(backend="verl")

What is started is what ``--dry-run`` prints, with the policy's name for rLLM's gateway (``model.name``) beside it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from sandmle.agents.chat.tokens import SamplingSettings
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.rllm.compose import Composed, compose
from sandmle.rl.rllm.demonstrations import as_parquet
from sandmle.rl.rllm.installed import need_verl
from sandmle.rl.rllm.playing import Playing
from sandmle.rl.rllm.recipe import Recipe
from sandmle.rl.rllm.sandboxes import opener, refuse_missing_cores
from sandmle.rl.rllm.tasks import task_rows
from sandmle.rl.rollouts import RolloutSettings
from sandmle.task import Task

__all__ = ["hydra_config", "link_policy", "playing_of", "sft_command", "start", "trainer_arguments"]


def start(recipe: Recipe, train: Sequence[Task], validation: Sequence[Task], *, allow_unisolated: bool = False) -> None:
    """Run the stages of a recipe, one after the other, until the last is done.

    Args:
        recipe: checked already.
        train: tasks to train on.
        validation: tasks to validate on.
        allow_unisolated: run the policy's code even where nothing shuts it in.

    Raises:
        EnvironmentProblem: rLLM, verl, vLLM or a GPU is missing, or a stage failed.
        BadInput: the stage has to be started by hand, its weights would not be those that the next one begins with, or
            this machine has fewer cores than its sandboxes are to have.
    """
    need_verl()
    _refuse_other_weights(recipe)
    if "grpo" in recipe.stages:
        refuse_missing_cores(recipe.sandboxes)
    if recipe.hardware.ray_address is None:
        _need_gpus(recipe.hardware.gpus)
    for stage in compose(recipe):
        if stage.stage == "sft":
            _imitate(stage)
        else:
            _reinforce(stage, train, validation, allow_unisolated)


def _need_gpus(wanted: int) -> None:
    import torch

    there = torch.cuda.device_count()
    if there < wanted:
        raise EnvironmentProblem(
            f"the recipe trains on {wanted} GPUs a node and this machine has {there}: `--dry-run` checks the recipe"
            " without, and `--backend local` trains on a CPU"
        )


def _imitate(stage: Composed) -> None:
    recipe = stage.recipe
    if recipe.hardware.nodes > 1:
        raise BadInput("the stage sft on several nodes: start the command that --dry-run prints on each of them")
    as_parquet(recipe.sft.demonstrations, recipe.demonstrations)
    done = subprocess.run(sft_command(stage), check=False)
    if done.returncode:
        raise EnvironmentProblem(f"verl's SFT trainer ended with exit code {done.returncode}")
    if "grpo" in recipe.stages:
        link_policy(recipe)


def link_policy(recipe: Recipe) -> None:
    """Link the weights of the stage's last checkpoint to where the next stage begins.

    Raises:
        BadInput: something else is there.
        EnvironmentProblem: there is no checkpoint with weights.
    """
    _refuse_other_weights(recipe)
    folder = recipe.out / "sft"
    found = [each for each in folder.glob("global_step_*/huggingface") if each.is_dir()]
    if not found:
        raise EnvironmentProblem(f"{folder}: no global_step_N/huggingface in it: the stage sft left no weights")
    last = max(found, key=lambda each: int(each.parent.name.rpartition("_")[2]))
    recipe.tuned.parent.mkdir(parents=True, exist_ok=True)
    recipe.tuned.unlink(missing_ok=True)
    recipe.tuned.symlink_to(last.absolute(), target_is_directory=True)


def _refuse_other_weights(recipe: Recipe) -> None:
    """Refuse a recipe whose second stage would not begin with the weights of its first.

    Raises:
        BadInput: where these are to be linked something is that is no link.
    """
    if len(recipe.stages) > 1 and recipe.tuned.exists() and not recipe.tuned.is_symlink():
        raise BadInput(
            f"{recipe.tuned}: there are weights already, and none of this recipe's stage sft; choose another sft.policy"
            ' or begin with them: path, and recipe = "sandmle"'
        )


def sft_command(stage: Composed) -> list[str]:
    """What starts verl's SFT trainer on one node."""
    gpus = stage.recipe.hardware.gpus
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={gpus}"]
    return [*run, "-m", "verl.trainer.sft_trainer", *stage.arguments()]


def _reinforce(stage: Composed, train: Sequence[Task], validation: Sequence[Task], allow_unisolated: bool) -> None:
    from rllm.trainer.unified_trainer import AgentTrainer

    trainer = AgentTrainer(**trainer_arguments(stage, train, validation, allow_unisolated=allow_unisolated))
    try:
        trainer.train()
    except Exception as error:
        cause = getattr(error, "cause", None) or error  # Ray's own error is the whole traceback of another process
        told = next(iter(str(cause).splitlines()), "")
        raise EnvironmentProblem(f"rLLM's trainer on verl ended: {type(cause).__name__}: {told}") from error


def trainer_arguments(
    stage: Composed, train: Sequence[Task], validation: Sequence[Task], *, allow_unisolated: bool = False
) -> dict[str, Any]:
    """What rLLM's ``AgentTrainer`` is given."""
    from rllm.data import Dataset

    from sandmle.rl.rllm.flow import GradeFlow, PlayFlow
    from sandmle.rl.rllm.grouping import Grouping

    return {
        "backend": "verl",
        "config": hydra_config(stage),
        "agent_flow": PlayFlow(playing_of(stage.recipe, len(train) + len(validation), allow_unisolated)),
        "evaluator": GradeFlow(),
        "train_dataset": Dataset(task_rows(train), name="sandmle", split="train"),
        "val_dataset": Dataset(task_rows(validation), name="sandmle", split="validation") if validation else None,
        "traj_grouping_hook": Grouping(validated=frozenset(task.id for task in validation)),
    }


def playing_of(recipe: Recipe, tasks: int, allow_unisolated: bool = False) -> Playing:
    """How a recipe has tasks played."""
    play = recipe.play
    start = str(recipe.tuned) if "sft" in recipe.stages else recipe.weights
    return Playing(
        name=f"train:{recipe.model}",
        weights=start,
        settings=RolloutSettings(
            scaffolds=play.scaffolds,
            reward=play.reward,
            turns=play.turns,
            step_seconds=play.step_seconds,
            wall_seconds=play.episode_seconds,
            sampling=SamplingSettings(
                temperature=play.temperature,
                max_new_tokens=play.reply_tokens or play.response_tokens,
                max_tokens=play.tokens,
            ),
            group=recipe.grpo.group,
            deadline_s=play.deadline_seconds,
            give_up_s=play.give_up_seconds,
        ),
        tasks=tasks,
        seed=recipe.seed,
        open_sandboxes=opener(recipe.sandboxes, allow_unisolated=allow_unisolated),
    )


def hydra_config(stage: Composed) -> Any:
    """The configuration that Hydra composes of a stage's arguments, for rLLM's unified trainer.

    Raises:
        EnvironmentProblem: Hydra or verl's own configuration is not there as it was when the keys were recorded.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    try:
        with initialize_config_module("rllm.trainer.config", version_base=None):
            config = hydra_compose("unified", overrides=stage.arguments())
    except HydraException as error:
        raise EnvironmentProblem(f"rLLM's configuration can't be composed: {' '.join(str(error).split())}") from error
    OmegaConf.set_struct(config, False)
    config.model = {"name": stage.effective["actor_rollout_ref.model.path"]}
    return config
