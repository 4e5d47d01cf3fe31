"""Where a phase of a training begins, or goes on: its weights, its optimizer and its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sandmle.rl._torch import torch
from sandmle.rl.adapters import add_adapters
from sandmle.rl.checkpoints import PolicyWeights, TrainerState, latest_checkpoint, load_policy
from sandmle.rl.trainer._learner import Learner
from sandmle.rl.trainer._settings import ModelSettings, OptimizerSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["load", "start"]


def load(folder: Path, model: ModelSettings) -> PolicyWeights:
    """The policy in a folder, as the settings want it."""
    return load_policy(folder, device=model.device, dtype=model.dtype, compute=model.compute)


def start(
    model: ModelSettings,
    seed: int,
    first: Callable[[], PolicyWeights],
    optimizer: OptimizerSettings,
    checkpoints: Path,
    reference: PreTrainedModel | None = None,
) -> tuple[PolicyWeights, Learner, TrainerState]:
    """What a phase begins with, or goes on from its last checkpoint with; ``first`` gives the policy before it."""
    state, last = TrainerState(), latest_checkpoint(checkpoints)
    policy = first() if last is None or model.lora is not None else load(last, model)
    if model.lora is not None:
        add_adapters(policy.model, model.lora, seed)
    learner = Learner(policy, optimizer, reference)
    if last is not None:
        state = TrainerState.read(last / "trainer.json")
        learner.restore(torch.load(last / "trainer.pt", weights_only=True))
    return policy, learner, state
