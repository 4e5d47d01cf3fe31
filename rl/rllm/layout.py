"""How a stage lies on its GPUs, read from its effective configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sandmle.rl.rllm.compose import Composed

__all__ = ["PATHS", "Layout"]

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"

PATHS = {
    "grpo": {
        "strategy": f"{_ACTOR}.strategy",
        "sequence_parallel": f"{_ACTOR}.ulysses_sequence_parallel_size",
        "shard": f"{_ACTOR}.fsdp_config.fsdp_size",
        "dtype": f"{_ACTOR}.fsdp_config.model_dtype",
        "offload_parameters": f"{_ACTOR}.fsdp_config.param_offload",
        "offload_optimizer": f"{_ACTOR}.fsdp_config.optimizer_offload",
        "offload_policy": f"{_ACTOR}.fsdp_config.offload_policy",
        "dynamic": f"{_ACTOR}.use_dynamic_bsz",
        "tokens_per_gpu": f"{_ACTOR}.ppo_max_token_len_per_gpu",
        "micro_batch": f"{_ACTOR}.ppo_micro_batch_size_per_gpu",
        "remove_padding": "actor_rollout_ref.model.use_remove_padding",
        "checkpointing": "actor_rollout_ref.model.enable_gradient_checkpointing",
    },
    "sft": {
        "strategy": "engine.strategy",
        "sequence_parallel": "engine.ulysses_sequence_parallel_size",
        "shard": "engine.fsdp_size",
        "dtype": "engine.model_dtype",
        "offload_parameters": "engine.param_offload",
        "offload_optimizer": "engine.optimizer_offload",
        "offload_policy": "engine.offload_policy",
        "dynamic": "data.use_dynamic_bsz",
        "tokens_per_gpu": "data.max_token_len_per_gpu",
        "micro_batch": "data.micro_batch_size_per_gpu",
        "remove_padding": "model.use_remove_padding",
        "checkpointing": "model.enable_gradient_checkpointing",
    },
}
"""The key of each attribute, by stage."""


@dataclass(frozen=True)
class Layout:
    """Sizes and choices that divide a stage over GPUs.

    Attributes:
        gpus: of all nodes.
        sequence: tokens of the longest row.
        shard: GPUs that share one copy of the training state.
        engine_gpus: GPUs of one vLLM engine; 0 where the stage has none.
    """

    gpus: int
    sequence: int
    strategy: str
    sequence_parallel: int
    shard: int
    dtype: str
    offload_parameters: bool
    offload_optimizer: bool
    offload_policy: bool
    dynamic: bool
    tokens_per_gpu: int
    micro_batch: int | None
    remove_padding: bool
    checkpointing: bool
    engine_gpus: int

    @classmethod
    def of(cls, stage: Composed) -> Self:
        """The layout of a stage."""
        config = stage.effective
        gpus = config["trainer.nnodes"] * config["trainer.n_gpus_per_node"]
        values = {name: config[path] for name, path in PATHS[stage.stage].items()}
        if values["shard"] in (None, -1):
            values["shard"] = gpus
        return cls(gpus=gpus, sequence=_sequence(stage), engine_gpus=_engine_gpus(stage), **values)

    @property
    def data_parallel(self) -> int:
        """Groups of GPUs that work on different rows; at least one."""
        return max(1, self.gpus // self.sequence_parallel)

    @property
    def forward_tokens(self) -> int:
        """Most tokens of one forward pass on one GPU."""
        if self.dynamic:
            return self.tokens_per_gpu
        return -(-self.sequence * (self.micro_batch or 1) // self.sequence_parallel)


def _sequence(stage: Composed) -> int:
    return int(stage.effective["data.max_length"]) if stage.stage == "sft" else stage.recipe.play.tokens


def _engine_gpus(stage: Composed) -> int:
    if stage.stage == "sft":
        return 0
    sizes = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    tensor, data, pipeline = (int(stage.effective[f"{_ROLLOUT}.{size}"]) for size in sizes)
    return tensor * data * pipeline
