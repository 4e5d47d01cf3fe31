"""``TrainSettings``: a training config, as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sandmle.agents.chat.tokens import Reading
from sandmle.record import Record, as_value_error, sha256_json
from sandmle.rl.algorithms import Estimator, estimator_names, make_estimator
from sandmle.rl.checkpoints import TinyModel
from sandmle.rl.config_files import bundled_names, load_settings
from sandmle.rl.engine import Batching
from sandmle.rl.groups import GroupSettings
from sandmle.rl.losses import LossSettings
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.tokenizers import Pieces

__all__ = [
    "GrpoSettings",
    "LoraSettings",
    "ModelSettings",
    "OptimizerSettings",
    "SftOptimizerSettings",
    "SftSettings",
    "TrainSettings",
    "bundled_configs",
]


class OptimizerSettings(Record):
    """AdamW and how a batch is cut.

    Attributes:
        learning_rate: the highest one.
        warmup: share of the steps in which it rises from 0.
        decay: whether it then falls along a cosine to a tenth.
        max_grad_norm: longer gradients are shortened to it.
        micro_batch_tokens: cells of one forward pass, padding included.
        micro_batches_at_once: how many are computed side by side, each in a thread; it takes as many times the memory,
            and without dropout the gradient is the same to the last bit.
        gradient_checkpointing: recompute activations, for less memory.
    """

    learning_rate: Annotated[float, Field(gt=0)] = 1e-6
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.0
    decay: bool = False
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    micro_batch_tokens: Annotated[int, Field(gt=0)] = 16_384
    micro_batches_at_once: Annotated[int, Field(ge=1)] = 1
    gradient_checkpointing: bool = False


class LoraSettings(Record):
    """Low-rank adapters; what they add to a weight is scaled by ``alpha / rank``."""

    rank: Annotated[int, Field(ge=1)] = 16
    alpha: Annotated[int, Field(ge=1)] = 32


class ModelSettings(Record):
    """Where the policy comes from.

    Attributes:
        path: a folder as transformers reads it, or a ``.gguf`` file; None makes a tiny policy with random weights and
            a tokenizer of its own, trained on the demonstrations.
        tiny: the shape of that tiny policy; ``vocabulary`` is how many ids its tokenizer has, ``pieces`` what each is
            part of, ``reading`` what it is shown of messages.
        device: such as ``cpu`` or ``cuda``.
        dtype: of the weights. Small steps get lost in bfloat16, so full training keeps float32 and sets ``compute``.
        compute: what layers compute in; bfloat16 halves the memory of activations and is fast on GPUs. The last layer
            and the losses are float32 all the same.
        lora: train adapters only; None trains all weights.
    """

    path: Path | None = None
    tiny: TinyModel = TinyModel()
    vocabulary: Annotated[int, Field(ge=300)] = 1_024
    pieces: Pieces = "words"
    reading: Reading = "whole"
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    compute: Literal["float32", "bfloat16"] = "float32"
    lora: LoraSettings | None = None


class SftOptimizerSettings(OptimizerSettings):
    """The same with other defaults: demonstrations bear larger steps than rewards."""

    learning_rate: Annotated[float, Field(gt=0)] = 3e-3
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.03
    decay: bool = True


class SftSettings(Record):
    """Learning from demonstrations.

    Attributes:
        runs: run folders of ``sandmle eval`` whose episodes are learnt from.
        min_reward: episodes below it are left out, as are masked and leaked ones.
        valid: leave out episodes without a valid submission too.
        max_tokens: longer rows are left out.
        learn_failed_steps: learn replies whose code failed.
        batch: rows a step.
        checkpoint_every: steps between two checkpoints; the last one stays until imitation is done.
    """

    runs: tuple[Path, ...] = ()
    epochs: Annotated[int, Field(ge=1)] = 4
    batch: Annotated[int, Field(ge=1)] = 16
    checkpoint_every: Annotated[int, Field(ge=1)] = 100
    min_reward: Annotated[float, Field(ge=0, le=1)] = 0.0
    valid: bool = False
    max_tokens: Annotated[int, Field(gt=0)] = 4_096
    learn_failed_steps: bool = True
    optimizer: SftOptimizerSettings = SftOptimizerSettings()


class GrpoSettings(Record):
    """Learning from rewards.

    Attributes:
        updates: in all; may grow later, but then a decaying learning rate is another than that of an unbroken run.
        batch: groups an update.
        mini_batches: parts that its rows are dealt into, each for one gradient step; with one, nothing is ever clipped.
        checkpoint_every: updates between two checkpoints; the last one is always kept.
        keep_checkpoints: how many of the latest stay; None keeps all.
        transcripts: keep every episode, as ``transcripts/<episode>.json``.
    """

    updates: Annotated[int, Field(ge=1)] = 30
    batch: Annotated[int, Field(ge=1)] = 8
    mini_batches: Annotated[int, Field(ge=1)] = 1
    estimator: dict[str, Any] = Field(default_factory=lambda: {"name": "grpo"})
    loss: LossSettings = LossSettings()
    groups: GroupSettings = GroupSettings()
    rollouts: RolloutSettings = RolloutSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    batching: Batching = "continuous"
    max_batch: Annotated[int, Field(ge=1)] = 64
    checkpoint_every: Annotated[int, Field(ge=1)] = 10
    keep_checkpoints: Annotated[int, Field(ge=1)] | None = None
    transcripts: bool = False

    @field_validator("estimator")
    @classmethod
    def _estimator_works(cls, value: dict[str, Any]) -> dict[str, Any]:
        if value.get("name") not in estimator_names():
            raise ValueError(f"name must be one of {', '.join(estimator_names())}")
        with as_value_error():
            make_estimator(value)
        return value

    @model_validator(mode="after")
    def _staleness_where_groups_run_ahead(self) -> Self:
        if self.batching == "lockstep" and self.groups.max_staleness:
            raise ValueError('groups.max_staleness: nothing runs ahead with batching = "lockstep"; take "continuous"')
        return self

    def make_estimator(self) -> Estimator:
        """The estimator that ``estimator`` describes.

        Raises:
            BadInput: one of its settings is unknown or wrong.
        """
        return make_estimator(self.estimator)


class TrainSettings(Record):
    """One training: where the policy comes from, what it imitates, what it is rewarded for.

    Attributes:
        tasks: folder of the tasks to train on.
        split: name of a split of theirs that `sandmle split` wrote, such as ``paper``: only its training tasks; None
            for all.
        sft: None leaves the policy as it is.
        grpo: None stops after the imitation.
        threads: of PyTorch; with 1, and in lockstep, a run can be repeated to the last bit.
    """

    seed: Annotated[int, Field(ge=0)] = 0
    tasks: Path | None = None
    split: str | None = None
    model: ModelSettings = ModelSettings()
    sft: SftSettings | None = None
    grpo: GrpoSettings | None = None
    threads: Annotated[int, Field(ge=1)] = 1

    @property
    def identity(self) -> str:
        """Hex hash of all settings but the number of updates, which may grow."""
        plain = self.model_dump(mode="json")
        if plain["grpo"]:
            del plain["grpo"]["updates"]
        return sha256_json(plain)

    @classmethod
    def load(cls, name: str, changes: Mapping[str, object] | None = None) -> Self:
        """Read a config by its path, or by the name of a bundled one; paths in it are relative to the working folder.

        ``changes`` replace fields of it and of its tables.

        Raises:
            BadInput: there is none, it is no config, or values can't be used; names each, one a line.
        """
        return load_settings(cls, name, "config", changes)


def bundled_configs() -> tuple[str, ...]:
    """The names of the configs that come with sandmle."""
    return bundled_names("config")
