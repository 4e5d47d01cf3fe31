"""Truncated importance sampling between the engine that sampled and the trainer that learns.

    w = min(exp(old - sampler), cap)

of each token, or of each row by the sum over its tokens. Engine and trainer differ in numerics even with equal weights,
and an asynchronous engine has older weights; without w the gradient is of another policy than the one that sampled.
Truncated importance sampling: Ionides 2008, doi 10.1198/106186008X320456; verl has it as rollout correction.
"""

from __future__ import annotations

from sandmle.rl._torch import Tensor, torch
from sandmle.rl.losses.clip import bounded_ratio
from sandmle.rl.losses.settings import SamplerCorrection

__all__ = ["importance_weights"]


def importance_weights(log_ratio: Tensor, mask: Tensor, level: SamplerCorrection, cap: float) -> Tensor:
    """The weights, without gradient.

    Args:
        log_ratio: old minus sampler log-probabilities, shape (rows, width); anything outside the mask.
        mask: the loss mask, bool, same shape.
        level: one weight a token, one a row, or none, which is 1.
        cap: the largest weight.

    Returns:
        Weights in (0, cap], shape (rows, width).
    """
    within = torch.where(mask, log_ratio.detach(), 0.0)
    if level == "none":
        return torch.ones_like(within)
    if level == "sequence":
        within = within.sum(-1, keepdim=True).expand_as(within)
    return bounded_ratio(within).clamp(max=cap)
