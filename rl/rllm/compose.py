"""From a recipe to the overrides that the trainers' own command lines take, stage by stage.

    sft     torchrun ... -m verl.trainer.sft_trainer KEY=VALUE ...      Hydra config ``sft_trainer_engine``, verl's
    grpo    a program that runs rLLM's unified trainer KEY=VALUE ...    Hydra config ``unified``, rLLM's

A key that rLLM shares with verl is set under ``rllm.``, the place that rLLM reads. Whatever a recipe leaves to the
trainers is not named, so their defaults hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sandmle.rl.rllm.known import KnownKeys, Stage, known_keys
from sandmle.rl.rllm.recipe import Recipe

__all__ = ["OURS_TO_SAY", "PLAYED_BY_US", "Composed", "compose", "hydra_value"]

OURS_TO_SAY = ("rllm.rollout.train.max_tokens", "rllm.rollout.val.max_tokens")
"""What rLLM's gateway would else write over in every request; only we know how much room a prompt leaves."""

_KL_TYPES = {"k1": "kl", "k2": "mse", "k3": "low_var_kl", "abs": "abs"}
_NO_DUAL_CLIP = 1e9
_PLAIN_TEXT = re.compile(r"[A-Za-z_./][\w./-]*")
_MASKED = ("timeout", "error")
_KEPT = ("env_done", "unknown", "max_turns_exceeded", "max_prompt_length_exceeded", "max_response_length_exceeded")

PLAYED_BY_US: Mapping[str, Any] = {
    "rllm.workflow.raise_on_error": False,
    "rllm.workflow.retry_limit": 1,
    "rllm.compact_filtering.enable": True,
    **{f"rllm.compact_filtering.mask_{reason}": True for reason in _MASKED},
    **{f"rllm.compact_filtering.mask_{reason}": False for reason in _KEPT},
    "rllm.rejection_sample.min_trajs_per_group": 2,
    "rllm.gateway.host": "127.0.0.1",
}
"""Masks by the runner's status alone; one broken sandbox ends no training, and a lone episode teaches nothing.
What broke is tried again by our runner; rLLM would also play again what a deadline cut off."""


@dataclass(frozen=True)
class Composed:
    """One stage of a recipe.

    Attributes:
        overrides: value by key, in the order in which they are printed.
        removed: keys that are taken out, default and all.
    """

    stage: Stage
    recipe: Recipe
    overrides: Mapping[str, Any]
    removed: tuple[str, ...] = ()

    @property
    def known(self) -> KnownKeys:
        """The keys of this stage."""
        return known_keys(self.stage)

    @cached_property
    def effective(self) -> dict[str, Any]:
        """The whole configuration."""
        return self.known.effective(self.overrides, self.removed)

    def arguments(self) -> list[str]:
        """As Hydra takes them: ``KEY=VALUE``; ``+KEY=VALUE`` where no YAML file has the key; ``~KEY`` takes it out."""
        values = [
            f"{'+' if self.known.is_added(key) else ''}{key}={hydra_value(value)}"
            for key, value in self.overrides.items()
        ]
        return [*values, *(f"~{key}" for key in self.removed)]


def compose(recipe: Recipe) -> tuple[Composed, ...]:
    """The stages of a recipe, in their order."""
    return tuple(_composed(stage, recipe) for stage in recipe.stages)


def _composed(stage: Stage, recipe: Recipe) -> Composed:
    overrides = _PARTS[stage](recipe) | dict(_flat("", recipe.overrides.get(stage, {})))
    removed = OURS_TO_SAY if stage == "grpo" else ()
    return Composed(stage, recipe, overrides, tuple(key for key in removed if key not in overrides))


def hydra_value(value: Any) -> str:
    """A value in the grammar of Hydra's command line; text is quoted unless it is a plain word or path."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(hydra_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{hydra_value(each)}' for key, each in value.items())}}}"
    text = str(value)
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in ("null", "true", "false", "inf", "nan"):
        return text
    return "'" + text.replace("'", "\\'") + "'"


def _flat(path: str, mapping: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(f"{path}{key}.", value)
        else:
            yield path + key, value


def _grpo(recipe: Recipe) -> dict[str, Any]:
    return _data(recipe) | _algorithm(recipe) | _episodes(recipe) | _actor(recipe) | _engine(recipe) | _trainer(recipe)


def _data(recipe: Recipe) -> dict[str, Any]:
    play, grpo = recipe.play, recipe.grpo
    return {
        "rllm.data.seed": recipe.seed,
        "rllm.data.train_batch_size": grpo.batch,
        "rllm.data.max_prompt_length": play.tokens,
        "rllm.data.max_response_length": play.response_tokens,
        "rllm.rollout.n": grpo.group,
        "rllm.rollout.train.temperature": play.temperature,
        "rllm.rollout.val.temperature": play.temperature,
    }


def _algorithm(recipe: Recipe) -> dict[str, Any]:
    loss = recipe.grpo.loss
    return {
        "rllm.algorithm.adv_estimator": "grpo",
        "rllm.algorithm.loss_agg_mode": loss.aggregation,
        "rllm.algorithm.eps_clip": loss.clip_low,
        "rllm.algorithm.eps_clip_high": loss.clip_high,
        "rllm.algorithm.kl_beta": loss.kl_weight if loss.kl else 0.0,
        "rllm.algorithm.rollout_correction.tis_mode": None
        if loss.sampler_correction == "none"
        else loss.sampler_correction,
        "rllm.algorithm.rollout_correction.tis_cap": loss.sampler_cap,
        "actor_rollout_ref.actor.clip_ratio_c": loss.dual_clip or _NO_DUAL_CLIP,
        "actor_rollout_ref.actor.loss_scale_factor": loss.horizon,
        "actor_rollout_ref.actor.kl_loss_type": _KL_TYPES[loss.kl or "k3"],
        "actor_rollout_ref.actor.optim.lr": recipe.grpo.learning_rate,
    }


def _episodes(recipe: Recipe) -> dict[str, Any]:
    return {"rllm.workflow.n_parallel_tasks": recipe.sandboxes.count, **PLAYED_BY_US}


def _actor(recipe: Recipe) -> dict[str, Any]:
    hardware = recipe.hardware
    fsdp = "actor_rollout_ref.actor.fsdp_config"
    start = str(recipe.tuned) if "sft" in recipe.stages else recipe.weights
    return {
        "actor_rollout_ref.model.path": start,
        "actor_rollout_ref.model.use_remove_padding": True,
        "actor_rollout_ref.model.enable_gradient_checkpointing": True,
        "actor_rollout_ref.actor.strategy": hardware.strategy,
        "actor_rollout_ref.actor.ppo_mini_batch_size": recipe.grpo.mini_batch or recipe.grpo.batch,
        "actor_rollout_ref.actor.use_dynamic_bsz": True,
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": hardware.tokens_per_gpu,
        "actor_rollout_ref.actor.ulysses_sequence_parallel_size": hardware.sequence_parallel,
        f"{fsdp}.fsdp_size": hardware.shard or -1,
        f"{fsdp}.param_offload": hardware.offload_parameters,
        f"{fsdp}.optimizer_offload": hardware.offload_optimizer,
        "actor_rollout_ref.actor.checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
    }


def _engine(recipe: Recipe) -> dict[str, Any]:
    hardware = recipe.hardware
    return {
        "actor_rollout_ref.rollout.name": "vllm",
        "actor_rollout_ref.rollout.tensor_model_parallel_size": hardware.tensor_parallel,
        "actor_rollout_ref.rollout.expert_parallel_size": hardware.tensor_parallel if hardware.expert_parallel else 1,
        "actor_rollout_ref.rollout.gpu_memory_utilization": hardware.vllm_share,
        "actor_rollout_ref.rollout.max_model_len": recipe.play.tokens,
    }


def _trainer(recipe: Recipe) -> dict[str, Any]:
    hardware, grpo = recipe.hardware, recipe.grpo
    return {
        "rllm.trainer.project_name": "sandmle",
        "rllm.trainer.experiment_name": f"{recipe.model}-{recipe.recipe}",
        "rllm.trainer.total_epochs": grpo.epochs,
        "rllm.trainer.total_batches": grpo.updates or -1,
        "rllm.trainer.test_freq": grpo.validate_every,
        "rllm.trainer.save_freq": grpo.save_every,
        "trainer.nnodes": hardware.nodes,
        "trainer.n_gpus_per_node": hardware.gpus,
        "trainer.default_local_dir": str(recipe.out / "grpo"),
        **({"ray_init.address": hardware.ray_address} if hardware.ray_address else {}),
    }


def _sft(recipe: Recipe) -> dict[str, Any]:
    hardware, tuning = recipe.hardware, recipe.sft
    return {
        "model.path": recipe.weights,
        "model.use_remove_padding": True,
        "model.enable_gradient_checkpointing": True,
        "data.train_files": str(recipe.demonstrations),
        "data.train_batch_size": tuning.batch,
        "data.max_length": recipe.play.tokens,
        "data.truncation": "right",
        "data.use_dynamic_bsz": True,
        "data.max_token_len_per_gpu": hardware.tokens_per_gpu,
        "data.custom_cls.path": "pkg://rllm.trainer.verl.sft_dataset",
        "data.custom_cls.name": "RLLMSFTDataset",
        "data.rllm.tokenize_and_mask_method": "cumulative",
        "optim.lr": tuning.learning_rate,
        "optim.lr_scheduler_type": "cosine",
        "engine.strategy": hardware.strategy,
        "engine.ulysses_sequence_parallel_size": hardware.sequence_parallel,
        "engine.fsdp_size": hardware.shard or -1,
        "checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
        "trainer.project_name": "sandmle",
        "trainer.experiment_name": f"{recipe.model}-{recipe.recipe}",
        "trainer.total_epochs": tuning.epochs,
        "trainer.seed": recipe.seed,
        "trainer.nnodes": hardware.nodes,
        "trainer.n_gpus_per_node": hardware.gpus,
        "trainer.default_local_dir": str(recipe.out / "sft"),
    }


_PARTS: Mapping[Stage, Callable[[Recipe], dict[str, Any]]] = {"sft": _sft, "grpo": _grpo}
