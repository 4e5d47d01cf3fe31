"""What ``sandmle train --dry-run RECIPE`` tells: versions, each stage's overrides, memory, and every fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from sandmle.rl.rllm.checks import check
from sandmle.rl.rllm.compose import Composed, compose
from sandmle.rl.rllm.known import pinned_versions
from sandmle.rl.rllm.layout import Layout
from sandmle.rl.rllm.memory import MemoryEstimate, estimate_memory
from sandmle.rl.rllm.recipe import Recipe

__all__ = ["CheckedStage", "DryRun"]

_ENTRIES = {
    "sft": "torchrun --nnodes={nodes} --nproc-per-node={gpus} -m verl.trainer.sft_trainer",
    "grpo": "rLLM's unified trainer on {nodes} x {gpus} GPUs, Hydra config `unified`",
}


@dataclass(frozen=True)
class CheckedStage:
    """A stage and what is to be said of it.

    Attributes:
        memory: None where faults leave nothing to compute it from.
        faults: one line each.
    """

    composed: Composed
    memory: MemoryEstimate | None
    faults: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """For a person; the overrides as the trainer's command line takes them."""
        hardware = self.composed.recipe.hardware
        entry = _ENTRIES[self.composed.stage].format(nodes=hardware.nodes, gpus=hardware.gpus)
        yield f"# {self.composed.stage}: {entry}"
        yield from self.composed.arguments()
        if self.memory is None:
            return
        yield f"# memory, estimated, in GiB of {self.memory.gpu_gib:g} a GPU"
        for phase in self.memory.phases:
            parts = ", ".join(f"{name} {size:.1f}" for name, size in phase.parts.items())
            yield f"#   {phase.name:<10} {phase.total:6.1f} = {parts}"
        if self.memory.episodes is not None:
            yield (
                f"#   an engine's KV cache holds {self.memory.episodes:.1f} longest episodes;"
                f" it has {self.memory.wanted:.1f} at once"
            )
            yield f"# sandboxes: {_sandboxes(self.composed)}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "stage": self.composed.stage,
            "overrides": dict(self.composed.overrides),
            "arguments": self.composed.arguments(),
            "effective": self.composed.effective,
            "memory": self.memory and self.memory.to_plain(),
            "faults": list(self.faults),
        }


@dataclass(frozen=True)
class DryRun:
    """A recipe, composed and checked."""

    recipe: Recipe
    stages: tuple[CheckedStage, ...]

    @classmethod
    def of(cls, recipe: Recipe) -> Self:
        """Compose and check all stages."""
        return cls(recipe, tuple(map(_checked, compose(recipe))))

    @property
    def faults(self) -> list[str]:
        """Of all stages, one line each."""
        return [line for stage in self.stages for line in stage.faults]

    def text(self) -> str:
        """For a person."""
        versions = pinned_versions()
        head = (
            f"# {self.recipe.model}, recipe {self.recipe.recipe}, from {self.recipe.weights};"
            f" rLLM {versions['rllm']} at {versions['commit'][:8]}, verl {versions['verl']}, vLLM {versions['vllm']}"
        )
        played = [f"# {_tasks(self.recipe)}"] if "grpo" in self.recipe.stages else []
        return "\n".join([head, *played, *(line for stage in self.stages for line in stage.lines())])

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "recipe": self.recipe.model_dump(mode="json"),
            "versions": pinned_versions(),
            "stages": [stage.to_plain() for stage in self.stages],
        }


def _checked(stage: Composed) -> CheckedStage:
    faults = tuple(check(stage))
    return CheckedStage(stage, None if faults else estimate_memory(stage), faults)


def _tasks(recipe: Recipe) -> str:
    play, (train, validation) = recipe.play, recipe.sizes
    return (
        f"{recipe.tasks}: {train} tasks to train on, {validation} to validate on; {', '.join(play.scaffolds)};"
        f" reward {play.reward}; at most {play.turns} turns, {play.step_seconds:g} s a step,"
        f" {play.episode_seconds:g} s an episode"
    )


def _sandboxes(stage: Composed) -> str:
    """How many at once, in how many waves, and the longest that their code can keep an update waiting."""
    play, boxes = stage.recipe.play, stage.recipe.sandboxes
    episodes = stage.recipe.grpo.batch * stage.recipe.grpo.group
    waves = -(-episodes // boxes.count)
    code = min(play.turns * play.step_seconds, play.episode_seconds)
    return (
        f"{episodes} episodes in waves of {boxes.count}: {waves}; an update waits at most {waves * code / 60:.0f}"
        f" minutes for their code and {waves * play.episode_seconds / 60:.0f} in all; {boxes.count} cores and"
        f" {boxes.count * boxes.gpus_each:g} GPUs beside the {Layout.of(stage).gpus} that train"
    )
