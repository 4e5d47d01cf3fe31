"""``Recipe``: a training on rLLM and verl as a person writes it, in TOML. The defaults are the paper's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sandmle.errors import BadInput
from sandmle.graphs.scaffold import scaffold_names
from sandmle.record import Record
from sandmle.rl.config_files import bundled_names, load_settings
from sandmle.rl.losses.settings import LossSettings
from sandmle.rl.rewards import get_preset
from sandmle.rl.rllm.demonstrations import is_parquet
from sandmle.rl.rllm.known import Stage
from sandmle.rl.rllm.models import ARCHITECTURES, Architecture
from sandmle.rl.splits import PAPER, read_split

__all__ = ["Hardware", "Play", "Recipe", "RecipeName", "Reinforcement", "Sandboxes", "Tuning", "bundled_recipes"]

RecipeName = Literal["seed-sft", "sandmle", "sft+rl"]
Positive = Annotated[int, Field(gt=0)]

_STAGES: dict[str, tuple[Stage, ...]] = {"seed-sft": ("sft",), "sandmle": ("grpo",), "sft+rl": ("sft", "grpo")}


class Play(Record):
    """How episodes are played.

    Attributes:
        scaffolds: take turns, task by task.
        reward: name of a reward preset.
        turns: model calls an episode.
        step_seconds: of one run of code.
        episode_seconds: of one episode, whatever it waits for.
        deadline_seconds: after which a task's episodes go on without stragglers, if two count; None waits for all.
        give_up_seconds: after which they do so even if fewer count; None waits for them.
        prompt_tokens: room for the task; a longer one takes from what follows.
        response_tokens: room for all that follows, replies and observations.
        reply_tokens: of one reply; None lets it fill what is left.
    """

    scaffolds: Annotated[tuple[str, ...], Field(min_length=1)] = ("react",)
    reward: str = "paper"
    turns: Positive = 20
    step_seconds: Annotated[float, Field(gt=0)] = 90.0
    episode_seconds: Annotated[float, Field(gt=0)] = 3_600.0
    deadline_seconds: Annotated[float, Field(gt=0)] | None = None
    give_up_seconds: Annotated[float, Field(gt=0)] | None = None
    temperature: Annotated[float, Field(ge=0)] = 1.0
    prompt_tokens: Positive = 8_192
    response_tokens: Positive = 32_768
    reply_tokens: Positive | None = None

    @property
    def tokens(self) -> int:
        """Of the longest episode."""
        return self.prompt_tokens + self.response_tokens

    @field_validator("scaffolds")
    @classmethod
    def _scaffolds_exist(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in value if name not in scaffold_names()]:
            raise ValueError(f"no scaffold {unknown[0]!r}; there are {', '.join(scaffold_names())}")
        return value

    @field_validator("reward")
    @classmethod
    def _reward_exists(cls, value: str) -> str:
        try:
            get_preset(value)
        except BadInput as error:
            raise ValueError(str(error)) from error
        return value


class Reinforcement(Record):
    """Learning from rewards.

    Attributes:
        batch: tasks an update.
        group: episodes of one task.
        mini_batch: tasks of one gradient step; None for the whole batch.
        epochs: passes over the training tasks.
        updates: stops earlier; None for all of the epochs.
        loss: the same settings as the embedded trainer's.
        validate_every: updates between two validations, as ``save_every`` between two checkpoints.
    """

    batch: Positive = 16
    group: Positive = 4
    mini_batch: Positive | None = None
    learning_rate: Annotated[float, Field(gt=0)] = 1e-6
    epochs: Positive = 1
    updates: Positive | None = None
    loss: LossSettings = LossSettings()
    validate_every: Positive = 10
    save_every: Positive = 10

    @model_validator(mode="before")
    @classmethod
    def _has_no_estimator(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "estimator" in value:
            raise ValueError(
                "estimator: on verl rLLM computes the advantages, one a trajectory; choose by"
                " rllm.algorithm.adv_estimator in [overrides.grpo]"
            )
        return value


class Tuning(Record):
    """Learning from demonstrations.

    Attributes:
        demonstrations: what ``sandmle export episodes --format sft`` wrote, its folder or file; or Parquet with a
            column ``messages``.
        batch: episodes a gradient step.
        policy: what ``sft+rl`` goes on from: a link that is made, or made anew, to the last checkpoint's
            ``huggingface`` when the first stage is done; None for ``sft/policy`` in the recipe's ``out``.
    """

    demonstrations: Path = Path("demonstrations.parquet")
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    epochs: Positive = 3
    batch: Positive = 32
    policy: Path | None = None


class Hardware(Record):
    """The machines that train.

    Attributes:
        gpus: of one node.
        gpu_gib: memory of one GPU.
        ray_address: of the cluster; needed by several nodes.
        strategy: version of FSDP.
        shard: GPUs that share one copy of the weights and optimiser states; None for all.
        offload_parameters: to the host while vLLM generates, as ``offload_optimizer``.
        sequence_parallel: GPUs that share one sequence (Ulysses).
        tokens_per_gpu: of one forward pass on one GPU.
        tensor_parallel: GPUs of one vLLM engine.
        expert_parallel: spread experts, not their columns, over the GPUs of an engine.
        vllm_share: of a GPU's memory, for weights and KV cache of vLLM.
    """

    nodes: Positive = 1
    gpus: Positive = 8
    gpu_gib: Annotated[float, Field(gt=0)] = 139.0
    ray_address: str | None = None
    strategy: Literal["fsdp", "fsdp2"] = "fsdp"
    shard: Positive | None = None
    offload_parameters: bool = False
    offload_optimizer: bool = False
    sequence_parallel: Positive = 1
    tokens_per_gpu: Positive = 16_384
    tensor_parallel: Positive = 1
    expert_parallel: bool = False
    vllm_share: Annotated[float, Field(gt=0, lt=1)] = 0.6


class Sandboxes(Record):
    """The machines that run the agents' code.

    Attributes:
        backend: ``local``, on the machine of rLLM's driver; or ``ray``, on those of the cluster that also trains.
        count: sandboxes at once.
        gpus_each: GPUs that one sandbox has to itself, or a share of one, with ``ray``; 1 in the paper.
        gpus: of all machines for sandboxes; those that train are not among them.
        cpus: cores of all machines for sandboxes, at least one each; a task of more memory takes more.
    """

    backend: Literal["local", "ray"] = "local"
    count: Positive = 64
    gpus_each: Annotated[float, Field(ge=0, le=1)] = 0
    gpus: Annotated[int, Field(ge=0)] = 0
    cpus: Positive = 64


class Recipe(Record):
    """One training.

    Attributes:
        trainer: tells a recipe from a config of the embedded trainer.
        model: name of an architecture.
        path: of the weights, on the hub or on disk; None for the model's own name on the hub.
        recipe: which stages: Seed-SFT, SandMLE, or one after the other.
        tasks: the folder of tasks.
        split: how many training and validation tasks, the paper's unless given; or the name of a split that
            `sandmle split` wrote beside the tasks, such as ``paper`` or ``domain``.
        out: folder of checkpoints.
        overrides: keys of rLLM and verl by stage, for what a recipe has no word for; they win.
    """

    trainer: Literal["rllm"]
    model: str
    path: str | None = None
    recipe: RecipeName = "sandmle"
    tasks: Path = Path("tasks")
    split: tuple[Positive, Positive] | Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")] = PAPER
    out: Path = Path("training")
    seed: Annotated[int, Field(ge=0)] = 0
    play: Play = Play()
    grpo: Reinforcement = Reinforcement()
    sft: Tuning = Tuning()
    hardware: Hardware = Hardware()
    sandboxes: Sandboxes = Sandboxes()
    overrides: dict[Stage, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("model")
    @classmethod
    def _model_is_known(cls, value: str) -> str:
        if value not in ARCHITECTURES:
            raise ValueError(f"no model {value!r}; there are {', '.join(ARCHITECTURES)}")
        return value

    @property
    def sizes(self) -> tuple[int, int]:
        """Training and validation tasks.

        Raises:
            BadInput: the split is named, and there is none of that name.
        """
        if not isinstance(self.split, str):
            return self.split
        found = read_split(self.tasks, self.split)
        return len(found.train), len(found.validation)

    @property
    def demonstrations(self) -> Path:
        """The Parquet file that the stage ``sft`` reads; made when it starts, where what was given is none."""
        given = self.sft.demonstrations
        return given if is_parquet(given) else self.out / "sft" / "demonstrations.parquet"

    @property
    def tuned(self) -> Path:
        """The weights that the stage ``sft`` leaves to the next one."""
        return self.sft.policy or self.out / "sft" / "policy"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """In their order."""
        return _STAGES[self.recipe]

    @property
    def architecture(self) -> Architecture:
        """Of the model."""
        return ARCHITECTURES[self.model]

    @property
    def weights(self) -> str:
        """Where the first stage starts."""
        return self.path or self.architecture.name

    @classmethod
    def load(cls, name: str, changes: Mapping[str, object] | None = None) -> Self:
        """Read a recipe by its path, or by the name of a bundled one; ``changes`` replace fields of it and its tables.

        Raises:
            BadInput: there is none, it is no recipe, or values can't be used; names each, one a line.
        """
        return load_settings(cls, name, "recipe", changes)


def bundled_recipes() -> tuple[str, ...]:
    """The names of the recipes that come with sandmle."""
    return bundled_names("recipe")
