"""What is wrong with a composed stage, each fault one line: found without a GPU, before the trainers find it on one.

The rules are what verl 0.8.0, vLLM and rLLM refuse, assert, or silently get wrong; a line names the key, its value, and
what to do. Keys that are unknown or of a wrong type are told first and left out of the other rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sandmle.rl.rllm.compose import Composed, hydra_value
from sandmle.rl.rllm.known import KnownKey
from sandmle.rl.rllm.layout import PATHS, Layout
from sandmle.rl.rllm.memory import DTYPE_BYTES, estimate_memory

__all__ = ["check"]

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"

_CHOICES = {
    "rllm.algorithm.adv_estimator": ("grpo", "reinforce", "reinforce_plus_plus_baseline", "rloo"),
    f"{_ACTOR}.loss_agg_mode": ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"),
    "rllm.algorithm.rollout_correction.tis_mode": (None, "token", "sequence"),
    "rllm.stepwise_advantage.mode": ("broadcast",),
    "rllm.algorithm.router_replay": ("disabled",),
    f"{_ACTOR}.strategy": ("fsdp", "fsdp2"),
    f"{_ROLLOUT}.name": ("vllm",),
    f"{_ROLLOUT}.mode": ("async",),
    f"{_ROLLOUT}.pipeline_model_parallel_size": (1,),
    "algorithm.use_kl_in_reward": (False,),
    "reward.reward_model.enable": (False,),
    "engine.strategy": ("fsdp", "fsdp2"),
    "data.pad_mode": ("no_padding",),
    "rllm.async_training.enable": (False,),
    **{paths["dtype"]: tuple(DTYPE_BYTES) for paths in PATHS.values()},
}
"""Values that rLLM on verl accepts, or that these recipes know how to check."""

_COUNTS = {
    **dict.fromkeys(
        (
            "trainer.nnodes",
            "trainer.n_gpus_per_node",
            "rllm.data.train_batch_size",
            "rllm.data.max_prompt_length",
            "rllm.data.max_response_length",
            "rllm.rollout.n",
            "rllm.workflow.n_parallel_tasks",
            "data.train_batch_size",
            "data.max_length",
            f"{_ACTOR}.ppo_mini_batch_size",
            f"{_ROLLOUT}.tensor_model_parallel_size",
            f"{_ROLLOUT}.data_parallel_size",
            f"{_ROLLOUT}.expert_parallel_size",
            f"{_ROLLOUT}.pipeline_model_parallel_size",
            f"{_ROLLOUT}.max_num_batched_tokens",
            f"{_ROLLOUT}.max_num_seqs",
            f"{_ROLLOUT}.log_prob_max_token_len_per_gpu",
            *(paths[name] for paths in PATHS.values() for name in ("sequence_parallel", "tokens_per_gpu")),
        ),
        1,
    ),
    "rllm.rejection_sample.min_trajs_per_group": 2,
}
"""The least that keys may be which the rules compute with; a group of one would teach its raw reward."""

_MAYBE_COUNTS = {f"{_ROLLOUT}.max_model_len", *(paths["micro_batch"] for paths in PATHS.values())}
"""Keys of this kind that may be null."""

_SHARDS = {paths["shard"] for paths in PATHS.values()}
_SHARE = f"{_ROLLOUT}.gpu_memory_utilization"


def check(stage: Composed) -> list[str]:
    """Every fault of a stage, one line each; none where it can start."""
    faults = dict(_keys(stage))
    sound = replace(stage, overrides={key: value for key, value in stage.overrides.items() if key not in faults})
    lines = [line for rule in _RULES for line in rule(sound, sound.effective)]
    if not lines:
        lines = list(estimate_memory(sound).problems())
    return [f"{stage.stage}: {line}" for line in (*faults.values(), *lines)]


def _keys(stage: Composed) -> Iterator[tuple[str, str]]:
    for key, value in stage.overrides.items():
        if not stage.known.has(key):
            near = stage.known.nearest(key)
            yield key, f"{key}: no such key" + (f"; did you mean {near}?" if near else "")
        elif key in stage.known.shared and key not in stage.known.shared.values():
            yield key, f"{key}: rLLM overwrites it; set {stage.known.shared[key]}"
        elif wrong := _wrong(key, stage.effective[key], stage.known.keys.get(key)):
            yield key, f"{key} = {value!r}: {wrong}"


def _wrong(key: str, value: Any, known: KnownKey | None) -> str | None:
    """What is wrong with the value that an override comes to, by itself."""
    if known is None:
        return None
    if isinstance(value, str) and "${" in value and known.type in ("bool", "int", "float"):
        return "what it comes to can't be told here; write the value itself"
    if not known.takes(value):
        return f"it takes {known.type}"
    if key in _COUNTS and (value is None or value < _COUNTS[key]):
        return f"it must be at least {_COUNTS[key]}"
    if key in _MAYBE_COUNTS and value is not None and value < 1:
        return "it must be at least 1, or null"
    if key in _SHARDS and value not in (None, -1) and value < 1:
        return "it must be at least 1, or -1 for all GPUs"
    if key == _SHARE and not 0 < (value or 0) < 1:
        return "a share between 0 and 1"
    return None


def _values(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    for key, choices in _CHOICES.items():
        if key in config and config[key] not in choices:
            name = stage.known.shared.get(key, key)
            yield f"{name} = {hydra_value(config[key])}: choose from {', '.join(map(hydra_value, choices))}"
    if stage.stage == "grpo":
        if (
            config["rllm.algorithm.rollout_correction.bypass_mode"]
            and config["rllm.algorithm.rollout_correction.tis_mode"]
        ):
            yield "rllm.algorithm.rollout_correction.tis_mode: it means nothing with bypass_mode; set one of them"
        if config[f"{_ROLLOUT}.temperature"] == 0:
            yield "play.temperature = 0: all episodes of a group would be alike, with nothing to learn from"


def _parallel(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    layout, model, paths = Layout.of(stage), stage.recipe.architecture, PATHS[stage.stage]
    shared = f"{paths['sequence_parallel']} = {layout.sequence_parallel}"
    if layout.gpus % layout.sequence_parallel:
        yield f"{shared}: it must divide the {layout.gpus} GPUs"
    if model.heads % layout.sequence_parallel:
        yield f"{shared}: it must divide the {model.heads} attention heads"
    if layout.sequence_parallel > 1 and not layout.remove_padding:
        yield f"{shared}: sequences are only shared with {paths['remove_padding']}=true"
    if layout.gpus % layout.shard:
        yield f"{paths['shard']} = {layout.shard}: it must divide the {layout.gpus} GPUs"
    if layout.offload_policy and layout.strategy != "fsdp2":
        yield f"{paths['offload_policy']} = True: only {paths['strategy']}=fsdp2 has it"
    if config["trainer.nnodes"] > 1 and stage.stage == "grpo" and not config.get("ray_init.address"):
        yield (
            f"trainer.nnodes = {config['trainer.nnodes']}: give hardware.ray_address, such as auto on the head of a"
            " cluster that `ray start` made"
        )


def _engine(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    if stage.stage == "sft":
        return
    layout, model = Layout.of(stage), stage.recipe.architecture
    tensor, experts = (config[f"{_ROLLOUT}.{name}_parallel_size"] for name in ("tensor_model", "expert"))
    shared = f"{_ROLLOUT}.tensor_model_parallel_size = {tensor}"
    if layout.gpus % layout.engine_gpus:
        yield f"{shared}: an engine has {layout.engine_gpus} GPUs, which must divide the {layout.gpus}"
    if layout.engine_gpus > (node := config["trainer.n_gpus_per_node"]):
        yield f"{shared}: an engine of {layout.engine_gpus} GPUs is larger than a node of {node}"
    if model.heads % tensor:
        yield f"{shared}: it must divide the {model.heads} attention heads"
    elif model.kv_heads % tensor and tensor % model.kv_heads:
        yield f"{shared}: it must divide the {model.kv_heads} KV heads, or be a multiple of them"
    if experts > 1 and not model.experts:
        yield f"{_ROLLOUT}.expert_parallel_size = {experts}: {stage.recipe.model} has no experts"
    elif experts > 1 and experts != layout.engine_gpus:
        yield f"{_ROLLOUT}.expert_parallel_size = {experts}: it is 1, or the {layout.engine_gpus} GPUs of an engine"
    if experts == 1 and model.feed_forward % tensor:
        yield f"{shared}: it must divide the {model.feed_forward} columns of a feed-forward network"


def _batches(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    layout, batch = Layout.of(stage), config["data.train_batch_size"]
    groups = f"the {layout.data_parallel} groups of GPUs"
    if stage.stage == "sft":
        if batch % layout.data_parallel:
            yield f"data.train_batch_size = {batch}: it must divide by {groups}"
        yield from _micro_batches(stage, layout, batch)
        return
    group, mini = config[f"{_ROLLOUT}.n"], config[f"{_ACTOR}.ppo_mini_batch_size"]
    step = f"{_ACTOR}.ppo_mini_batch_size = {mini}"
    if batch % mini:
        yield f"{step}: it must divide the batch of {batch} tasks"
    if group < 2:
        yield f"rllm.rollout.n = {group}: a group of one has no baseline, and rLLM takes its raw reward"
    if mini * group < layout.data_parallel:
        yield f"{step}: its {mini * group} episodes are fewer than {groups}"
    if batch > (tasks := stage.recipe.sizes[0]):
        yield f"rllm.data.train_batch_size = {batch}: of {tasks} training tasks no batch comes together"
    yield from _micro_batches(stage, layout, mini * group)


def _micro_batches(stage: Composed, layout: Layout, rows: int) -> Iterator[str]:
    paths = PATHS[stage.stage]
    if layout.dynamic:
        return
    if layout.micro_batch is None:
        yield f"{paths['micro_batch']}: set it, or {paths['dynamic']}=true"
    elif rows % (at_once := layout.data_parallel * layout.micro_batch):
        yield f"{paths['micro_batch']} = {layout.micro_batch}: {at_once} rows at once must divide {rows}"


def _tokens(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    layout, paths = Layout.of(stage), PATHS[stage.stage]
    limits = {paths["tokens_per_gpu"]: layout.tokens_per_gpu} if layout.dynamic else {}
    scoring = f"{_ROLLOUT}.log_prob_max_token_len_per_gpu"
    if config.get(scoring, layout.tokens_per_gpu) != layout.tokens_per_gpu:
        limits[scoring] = config[scoring]
    for path, limit in limits.items():
        least = -(-layout.sequence // layout.sequence_parallel)
        if limit < least:
            gpus = f"{layout.sequence_parallel} GPUs share a sequence of {layout.sequence} tokens"
            yield f"{path} = {limit}: {gpus}, so it must be at least {least}"


def _context(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    layout, positions = Layout.of(stage), stage.recipe.architecture.context
    room = f"{stage.recipe.model} has {positions} positions"
    if stage.stage == "sft":
        if layout.sequence > positions:
            yield f"data.max_length = {layout.sequence}: {room}"
        return
    longest = config[f"{_ROLLOUT}.max_model_len"] or positions
    if longest > positions:
        yield f"{_ROLLOUT}.max_model_len = {longest}: {room}"
    if layout.sequence > longest:
        yield f"{_ROLLOUT}.max_model_len = {longest}: prompt and response together are {layout.sequence} tokens"
    if (prompt := config["data.max_prompt_length"]) < layout.sequence:
        yield (
            f"rllm.data.max_prompt_length = {prompt}: verl cuts the front off a longer prompt, and one may have"
            f" {layout.sequence} tokens"
        )
    reply, response = stage.recipe.play.reply_tokens, config["data.max_response_length"]
    if reply and reply > response:
        yield f"play.reply_tokens = {reply}: a reply can't be longer than all {response} response tokens"
    at_once = config[f"{_ROLLOUT}.max_num_batched_tokens"]
    if not config[f"{_ROLLOUT}.enable_chunked_prefill"] and at_once < longest:
        yield f"{_ROLLOUT}.max_num_batched_tokens = {at_once}: without chunked prefill it must be at least {longest}"
    if at_once < config[f"{_ROLLOUT}.max_num_seqs"]:
        yield f"{_ROLLOUT}.max_num_batched_tokens = {at_once}: it must be at least max_num_seqs"


def _sandboxes(stage: Composed, config: Mapping[str, Any]) -> Iterator[str]:
    if stage.stage == "sft":
        return
    boxes, count = stage.recipe.sandboxes, config["rllm.workflow.n_parallel_tasks"]
    for name, each, there in (("gpus", boxes.gpus_each, boxes.gpus), ("cpus", 1, boxes.cpus)):
        if count * each > there:
            taken = f"{count} sandboxes at once, each with {each:g}, take {count * each:g}"
            yield f"sandboxes.{name} = {there}: {taken}"
    if boxes.gpus_each and boxes.backend == "local":
        yield f'sandboxes.gpus_each = {boxes.gpus_each:g}: only sandboxes.backend = "ray" gives a sandbox GPUs'


_RULES: tuple[Callable[[Composed, Mapping[str, Any]], Iterator[str]], ...] = (
    _values,
    _parallel,
    _engine,
    _batches,
    _tokens,
    _context,
    _sandboxes,
)
