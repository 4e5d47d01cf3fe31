"""What one GPU must hold, phase by phase: an estimate, made before a GPU is rented.

**update**: FSDP keeps parameters in float32 and computes in bfloat16, so each takes 4 bytes, its gradient 4, and Adam's
two moments 8: the 16 bytes of mixed-precision Adam (ZeRO, arXiv 1910.02054, section 3.1), divided by the shard.
Offloaded states come back for an update, except under FSDP2's own policy, which leaves them on the host. To these add

    gathered      two layers (one computes, the next one arrives) in bfloat16, and one layer's gradient in float32;
                  the output layer counts as one
    activations   with checkpointing, each layer's input, 2 bytes · hidden · tokens · layers (arXiv 2205.05198, section
                  5), and one layer recomputed: inputs and outputs of its norms, queries, keys, values, attention
                  output, gate, up and product, in 16 bits, and as much for their gradients; flash attention keeps no
                  scores
    logits        6 bytes · vocabulary · tokens: 16-bit logits, and two of that size while their entropy is taken

**generation**: vLLM may take ``gpu_memory_utilization`` of the GPU for weights, working memory and KV cache; beside it
lie the weights and moments that are not offloaded. A token's keys and values take 4 · layers · KV heads · head size
bytes, over the GPUs of an engine, at least one head each.

**both**: CUDA, NCCL and the allocator's slack, taken as 6 GiB, and vLLM's working memory, taken as 4. These two are
assumptions; nothing here was measured on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandmle.rl.rllm.compose import Composed
from sandmle.rl.rllm.layout import Layout
from sandmle.rl.rllm.models import Architecture

__all__ = ["DTYPE_BYTES", "MemoryEstimate", "Phase", "estimate_memory"]

_GIB = 2**30
_SLACK_GIB = 6.0
_WORKING_GIB = 4.0
DTYPE_BYTES = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2}
"""Bytes of a parameter by the names that verl has for its type."""


@dataclass(frozen=True)
class Phase:
    """What lies on a GPU at one time, in GiB by what it is."""

    name: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        """GiB."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class MemoryEstimate:
    """The phases of a stage.

    Attributes:
        gpu_gib: memory of a GPU.
        episodes: longest episodes whose keys and values fit an engine at once; None where the stage has none.
        wanted: episodes that an engine has at once when all are played together.
    """

    gpu_gib: float
    phases: tuple[Phase, ...]
    episodes: float | None = None
    wanted: float | None = None

    def problems(self) -> Iterator[str]:
        """What does not fit, one line each."""
        for phase in self.phases:
            if phase.total > self.gpu_gib:
                parts = ", ".join(f"{name} {size:.0f}" for name, size in phase.parts.items())
                needs = f"{phase.name} needs about {phase.total:.0f} GiB a GPU ({parts})"
                yield f"hardware.gpu_gib = {self.gpu_gib:g}: {needs}; {_REMEDY[phase.name]}"
        if self.episodes is not None and self.episodes < 1:
            yield (
                f"hardware.vllm_share: the KV cache holds {max(self.episodes, 0):.2f} of one longest episode, and vLLM"
                " will not start; raise it, or hardware.tensor_parallel"
            )

    def to_plain(self) -> dict[str, Any]:
        """As JSON values, in GiB."""
        return {
            "gpu_gib": self.gpu_gib,
            "phases": {phase.name: {**phase.parts, "total": phase.total} for phase in self.phases},
            "episodes_in_kv_cache": self.episodes,
            "episodes_wanted": self.wanted,
        }


_REMEDY = {
    "update": "use more nodes, a higher hardware.sequence_parallel with fewer hardware.tokens_per_gpu",
    "generation": "lower hardware.vllm_share, or offload parameters and optimizer",
}


def estimate_memory(stage: Composed) -> MemoryEstimate:
    """What a GPU must hold in a stage, by the formulas of this module; see there for their sources."""
    model, layout, gpu = stage.recipe.architecture, Layout.of(stage), stage.recipe.hardware.gpu_gib
    update = Phase("update", _states(model, layout) | _work(model, layout) | {"slack": _SLACK_GIB})
    if not layout.engine_gpus:
        return MemoryEstimate(gpu, (update,))
    share = gpu * float(stage.effective["actor_rollout_ref.rollout.gpu_memory_utilization"])
    tensor = int(stage.effective["actor_rollout_ref.rollout.tensor_model_parallel_size"])
    weights = 2 * model.parameters / tensor / _GIB
    cache = share - weights - _WORKING_GIB
    resident = _resident(model, layout)
    generation = Phase(
        "generation",
        resident | {"vLLM weights": weights, "vLLM working": _WORKING_GIB, "KV cache": cache, "slack": _SLACK_GIB},
    )
    episode = model.kv_bytes / min(tensor, model.kv_heads) * layout.sequence / _GIB
    engines = layout.gpus / layout.engine_gpus
    at_once = min(stage.recipe.sandboxes.count, _episodes(stage))
    return MemoryEstimate(gpu, (update, generation), episodes=cache / episode, wanted=at_once / engines)


def _episodes(stage: Composed) -> int:
    return int(stage.effective["data.train_batch_size"] * stage.effective["actor_rollout_ref.rollout.n"])


def _states(model: Architecture, layout: Layout) -> dict[str, float]:
    if layout.offload_policy and layout.strategy == "fsdp2":
        return {"weights": 0.0, "gradients": 0.0, "moments": 0.0}
    share = model.parameters / layout.shard * DTYPE_BYTES[layout.dtype] / _GIB
    return {"weights": share, "gradients": share, "moments": 2 * share}


def _resident(model: Architecture, layout: Layout) -> dict[str, float]:
    states = _states(model, layout)
    return {
        "weights": 0.0 if layout.offload_parameters else states["weights"],
        "moments": 0.0 if layout.offload_optimizer else states["moments"],
    }


def _work(model: Architecture, layout: Layout) -> dict[str, float]:
    tokens = layout.forward_tokens
    streams = max(model.active, 1)
    inner = (
        4 * model.hidden
        + 2 * (model.heads + model.kv_heads) * model.head_size
        + streams * 3 * model.feed_forward
        + (2 * streams * model.hidden if model.experts else 0)
    )
    recomputed = 2 * inner * tokens
    kept = 2 * model.hidden * tokens * model.layers if layout.checkpointing else recomputed * model.layers
    unit = max(model.layer_parameters, model.vocabulary * model.hidden)
    return {
        "gathered": (2 * 2 + 4) * unit / _GIB,
        "activations": (kept + 2 * recomputed) / _GIB,
        "logits": 6 * model.vocabulary * tokens / _GIB,
    }
