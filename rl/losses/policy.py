"""The loss of one micro-batch: clipped objective, sampler correction and KL penalty, with what is worth watching.

    loss = aggregate(-A * clipped(r) * w) + kl_weight * aggregate(kl),    r = exp(new - old),  w of ``importance``

The losses of all micro-batches add up to the loss of the batch, their gradients to its gradient, and so do all metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandmle.rl._torch import Tensor, torch
from sandmle.rl.batches import Totals
from sandmle.rl.losses.aggregation import aggregate, masked_mean
from sandmle.rl.losses.clip import bounded_ratio, clipped_ratio
from sandmle.rl.losses.importance import importance_weights
from sandmle.rl.losses.kl import kl_estimate
from sandmle.rl.losses.settings import LossSettings

__all__ = ["LossInputs", "PolicyLoss", "policy_loss"]


@dataclass(frozen=True, eq=False)
class LossInputs:
    """Tensors of one micro-batch, of shape (rows, width); what stands outside the mask never matters.

    Attributes:
        new: log-probabilities under the weights in training, with gradient.
        old: by the trainer before the update; ``new.detach()`` where one update is made of a batch.
        sampler: as the engine reported them.
        advantages: of the tokens.
        mask: the loss mask, bool.
        reference: under the reference weights; only a KL penalty needs them.
        entropy: of the distributions that the tokens were drawn from, in nats; only reported.
    """

    new: Tensor
    old: Tensor
    sampler: Tensor
    advantages: Tensor
    mask: Tensor
    reference: Tensor | None = None
    entropy: Tensor | None = None


@dataclass(frozen=True, eq=False)
class PolicyLoss:
    """This micro-batch's part of the batch's loss and metrics.

    Attributes:
        loss: a scalar with gradient.
        metrics: scalars without, by name:
            ``policy_loss`` and ``kl``, the terms of the loss, the second before its weight;
            ``entropy``, in nats a token;
            ``update_kl``, k1 from old to new weights;
            ``clipped`` and ``dual_clipped``, shares of tokens;
            ``sampler_kl`` and ``sampler_kl_k3``, from the sampler to the trainer's old weights;
            ``sampler_weight``, the mean weight of the correction, and ``sampler_truncated``, the share that was cut.
    """

    loss: Tensor
    metrics: Mapping[str, Tensor]


def policy_loss(inputs: LossInputs, settings: LossSettings, totals: Totals) -> PolicyLoss:
    """The loss of a micro-batch.

    Args:
        inputs: the micro-batch.
        settings: which loss.
        totals: of the whole batch.

    Raises:
        ValueError: a KL penalty is asked for and there are no reference log-probabilities.
    """
    mask, advantages = inputs.mask, inputs.advantages
    log_ratio = _difference(inputs.new, inputs.old, mask)
    ratio = bounded_ratio(log_ratio)
    kept = clipped_ratio(ratio, advantages, settings.clip_low, settings.clip_high, settings.dual_clip)
    mismatch = _difference(inputs.old, inputs.sampler, mask)
    weights = importance_weights(mismatch, mask, settings.sampler_correction, settings.sampler_cap)
    loss = aggregate(-advantages * kept * weights, mask, totals, settings.aggregation, settings.horizon)
    dearer = -advantages * (kept - ratio)
    metrics = {
        "policy_loss": loss.detach(),
        "update_kl": masked_mean(-log_ratio, mask, totals),
        "clipped": masked_mean((dearer > 0).to(loss.dtype), mask, totals),
        "dual_clipped": masked_mean((dearer < 0).to(loss.dtype), mask, totals),
        **_sampler_metrics(mismatch, weights, mask, settings, totals),
    }
    if inputs.entropy is not None:
        metrics["entropy"] = masked_mean(inputs.entropy, mask, totals)
    if settings.kl is not None:
        estimate = kl_estimate(_from_reference(inputs), settings.kl)
        penalty = aggregate(estimate, mask, totals, settings.aggregation, settings.horizon)
        loss = loss + settings.kl_weight * penalty
        metrics["kl"] = penalty.detach()
    return PolicyLoss(loss, metrics)


def _difference(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """One minus the other where the mask is, else 0, so that no nan of padding reaches a gradient."""
    return torch.where(mask, one - other, 0.0)


def _from_reference(inputs: LossInputs) -> Tensor:
    if inputs.reference is None:
        raise ValueError("a KL penalty needs reference log-probabilities")
    return _difference(inputs.new, inputs.reference, inputs.mask)


def _sampler_metrics(
    mismatch: Tensor, weights: Tensor, mask: Tensor, settings: LossSettings, totals: Totals
) -> dict[str, Tensor]:
    metrics = {
        "sampler_kl": masked_mean(-mismatch, mask, totals),
        "sampler_kl_k3": masked_mean(bounded_ratio(mismatch) - 1 - mismatch, mask, totals),
    }
    if settings.sampler_correction != "none":
        metrics["sampler_weight"] = masked_mean(weights, mask, totals)
        metrics["sampler_truncated"] = masked_mean((weights >= settings.sampler_cap).to(weights.dtype), mask, totals)
    return metrics
