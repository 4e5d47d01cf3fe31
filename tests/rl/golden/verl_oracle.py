"""verl's own functions on a batch of ``random_batches``.

Importing verl takes Ray, tensordict, transformers and more. Its ``core_algos`` itself takes torch and numpy, so
``load`` puts empty packages in the place of the rest; nothing of verl is copied.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
from random_batches import TURNS, loss_settings

VERSION = "0.9.1"
_PACKAGES = ("verl", "verl.utils", "verl.trainer", "verl.trainer.ppo")
_STAND_INS = {
    "omegaconf": ("DictConfig",),
    "tensordict": ("TensorDict",),
    "transformers": ("PreTrainedTokenizer",),
    "verl.protocol": ("DataProto",),
    "verl.trainer.config": ("AlgoConfig",),
    "verl.trainer.config.algorithm": ("RolloutCorrectionConfig",),
    "verl.utils.device": ("get_device_name", "get_torch_device"),
    "verl.workers.config": ("ActorConfig",),
    "verl.workers.config.actor": ("PolicyLossConfig",),
}


def load(folder):
    """verl's ``core_algos`` and ``rollout_corr_helper``, from the folder of the package ``verl``."""
    stand_ins = {}
    for name in _PACKAGES:
        stand_ins[name] = ModuleType(name)
        stand_ins[name].__path__ = [str(Path(folder).joinpath(*name.split(".")[1:]))]
    for name, classes in _STAND_INS.items():
        stand_ins[name] = ModuleType(name)
        vars(stand_ins[name]).update({each: type(each, (), {}) for each in classes})
    with patch.dict(sys.modules, stand_ins):
        groupwise = importlib.import_module("verl.utils.groupwise")
        stand_ins["verl.utils"].as_torch_index = groupwise.as_torch_index
        stand_ins["verl.utils"].group_mean_std = groupwise.group_mean_std
        core = importlib.import_module("verl.trainer.ppo.core_algos")
        return SimpleNamespace(core=core, correction=importlib.import_module("verl.trainer.ppo.rollout_corr_helper"))


class _ActorConfig(SimpleNamespace):
    def get(self, name, default):
        return getattr(self, name, default)


def answer(verl, batch):
    """What verl makes of a batch: advantages of rows and turns, the loss, its gradient and its metrics."""
    return {**advantages(verl.core, batch), **loss(verl, batch)}


def advantages(core, batch):
    """Of each row, and of each turn; 0 for masked rollouts and after the last turn."""
    counted = ~batch["masked"]
    rewards = batch["turn_rewards"].sum(axis=1)[counted]
    names = np.array([f"task:{group}" for group in batch["group"]], dtype=object)[counted]
    whole = {
        "grpo_sample": _of_rows(core.compute_grpo_outcome_advantage, rewards, names),
        "grpo_none": _of_rows(core.compute_grpo_outcome_advantage, rewards, names, norm_adv_by_std_in_grpo=False),
        "rloo": _of_rows(core.compute_rloo_outcome_advantage, rewards, names),
    }
    found = {name: np.zeros(len(counted)) for name in whole}
    for name, values in whole.items():
        found[name][counted] = values
    return {**found, "step_wise": _step_wise(core, batch)}


def _of_rows(function, rewards, names, **settings):
    scores = torch.tensor(rewards, dtype=torch.float64)[:, None]
    return function(scores, torch.ones_like(scores), names, **settings)[0][:, 0].numpy()


def _step_wise(core, batch):
    """GRPO on the groups that one turn of one task makes, as rLLM's per-step mode calls it; 0 where a turn is alone."""
    found = np.zeros((len(batch["group"]), TURNS))
    returns = batch["turn_rewards"][:, ::-1].cumsum(axis=1)[:, ::-1]
    there = (np.arange(TURNS) < batch["turns"][:, None]) & ~batch["masked"][:, None]
    rows, turns = np.nonzero(there)
    names = [f"{batch['group'][row]}/{turn}" for row, turn in zip(rows, turns, strict=True)]
    shared = np.array([names.count(name) > 1 for name in names])
    rows, turns, names = rows[shared], turns[shared], np.array(names, dtype=object)[shared]
    found[rows, turns] = _of_rows(core.compute_grpo_outcome_advantage, returns[rows, turns], names)
    return found


def loss(verl, batch):
    settings = loss_settings(batch)
    tensor = {name: torch.tensor(batch[name]) for name in ("new", "old", "sampler", "reference", "advantages")}
    mask = torch.tensor(batch["mask"], dtype=torch.float64)
    tensor["new"].requires_grad_()
    weights, found = None, {}
    if settings.sampler_correction != "none":
        weights, metrics = verl.correction.compute_rollout_correction_weights(
            tensor["old"] - tensor["sampler"], mask, settings.sampler_correction, settings.sampler_cap
        )
        found["sampler_weight"] = (weights * mask).sum() / mask.sum()
    config = _ActorConfig(
        clip_ratio=None,
        clip_ratio_low=settings.clip_low,
        clip_ratio_high=settings.clip_high,
        clip_ratio_c=settings.dual_clip,
        global_batch_info={"loss_scale_factor": settings.horizon},
    )
    total, metrics = verl.core.compute_policy_loss_vanilla(
        tensor["old"], tensor["new"], tensor["advantages"], mask, settings.aggregation, config, weights
    )
    found |= {"policy_loss": total, "clipped": metrics["actor/pg_clipfrac"], "update_kl": metrics["actor/ppo_kl"]}
    found["dual_clipped"] = metrics["actor/pg_clipfrac_lower"]
    if settings.kl is not None:
        estimate = verl.core.kl_penalty(tensor["new"], tensor["reference"], settings.kl)
        found["kl"] = verl.core.agg_loss(estimate, mask, settings.aggregation, **config.global_batch_info)
        total = total + settings.kl_weight * found["kl"]
    total.backward()
    mismatch = verl.correction.compute_offpolicy_metrics(tensor["old"], tensor["sampler"], mask)
    found |= {"sampler_kl": mismatch["kl"], "sampler_kl_k3": mismatch["k3_kl"]}
    found["entropy"] = verl.core.compute_entropy_loss(logits(batch), mask)
    numbers = {name: float(torch.as_tensor(value).detach()) for name, value in {"loss": total, **found}.items()}
    return {"gradient": tensor["new"].grad.numpy(), **numbers}


def logits(batch):
    """Logits of a vocabulary of four, for the entropy: any numbers do."""
    four = np.stack([batch[name] for name in ("new", "old", "sampler", "reference")], axis=-1)
    return torch.tensor(four * [1.0, 2.0, -1.0, 0.5])
