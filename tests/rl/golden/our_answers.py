"""Our functions on a batch of ``random_batches``, through groups and examples as a trainer calls them."""

from __future__ import annotations

import numpy as np
from random_batches import TURNS, loss_settings

from sandmle.rl.algorithms import make_estimator
from sandmle.rl.batches import Totals
from sandmle.rl.groups import gather_groups
from sandmle.rl.types import Rollout
from sandmle.trajectory import EpisodeStatus

ESTIMATORS = {
    "grpo_sample": {"name": "grpo", "std": "sample"},
    "grpo_none": {"name": "grpo", "std": "none"},
    "rloo": {"name": "rloo"},
    "step_wise": {"name": "step-wise", "std": "sample"},
}


def groups(batch):
    rollouts = [
        Rollout(
            id=str(row),
            task_id=f"task:{group}",
            turn_rewards=tuple(map(float, rewards[:turns])),
            mask_reason=EpisodeStatus.INFRA_ERROR if masked else None,
        )
        for row, (group, rewards, turns, masked) in enumerate(
            zip(batch["group"], batch["turn_rewards"], batch["turns"], batch["masked"], strict=True)
        )
    ]
    return gather_groups(rollouts)


def advantages(batch):
    """By estimator as ``verl_oracle.advantages`` has it."""
    found = {}
    for name, settings in ESTIMATORS.items():
        of_turns = np.zeros((len(batch["group"]), TURNS))
        for group in groups(batch):
            rewards = [np.array(rollout.turn_rewards) for rollout in group.counted]
            of_rollouts = make_estimator(settings).advantages(rewards)
            for rollout, values in zip(group.counted, of_rollouts, strict=True):
                of_turns[int(rollout.id), : len(values)] = values
        found[name] = of_turns if name == "step_wise" else of_turns[:, 0]
    return found


def totals(batch):
    return Totals(rows=int(batch["mask"].any(axis=1).sum()), tokens=int(batch["mask"].sum()))


def loss_inputs(batch, rows=slice(None)):
    import torch
    from verl_oracle import logits

    from sandmle.rl.losses.entropy import token_entropy
    from sandmle.rl.losses.policy import LossInputs

    names = ("new", "old", "sampler", "reference", "advantages")
    tensors = {name: torch.tensor(batch[name][rows]) for name in names}
    tensors["new"].requires_grad_()
    mask = torch.tensor(batch["mask"][rows])
    return LossInputs(**tensors, mask=mask, entropy=token_entropy(logits(batch))[rows])


def loss(batch):
    """The loss, its gradient and its metrics as ``verl_oracle.loss`` has them."""
    from sandmle.rl.losses.policy import policy_loss

    inputs = loss_inputs(batch)
    found = policy_loss(inputs, loss_settings(batch), totals(batch))
    found.loss.backward()
    numbers = {name: float(value) for name, value in found.metrics.items()}
    return {"loss": float(found.loss.detach()), "gradient": inputs.new.grad.numpy(), **numbers}
