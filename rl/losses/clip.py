"""The clipped policy objective: PPO with clip-higher and dual clip.

For a token with advantage A and ratio r of its new to its old probability the loss is -A times

    min(r, 1 + high)                     where A > 0
    min(max(r, 1 - low), dual_clip)      where A <= 0

which is PPO's max(-A r, -A clip(r, 1 - low, 1 + high)) (arXiv 1707.06347, equation 7), with an upper bound of its own
(clip-higher: DAPO, arXiv 2503.14476) and a bound on what a likely bad token costs (dual clip: arXiv 1912.09729).
"""

from __future__ import annotations

from sandmle.rl._torch import Tensor, torch

__all__ = ["LOG_RATIO_BOUND", "bounded_ratio", "clipped_ratio"]

LOG_RATIO_BOUND = 20.0
"""Log-ratios are cut to plus and minus this before ``exp``, as verl cuts them: e^20 is 4.9e8."""


def bounded_ratio(log_ratio: Tensor) -> Tensor:
    """``exp(log_ratio)`` that can't overflow."""
    return log_ratio.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND).exp()


def clipped_ratio(ratio: Tensor, advantages: Tensor, low: float, high: float, dual: float | None) -> Tensor:
    """What the advantage is multiplied by, elementwise."""
    return torch.where(advantages > 0, ratio.clamp(max=1 + high), ratio.clamp(min=1 - low, max=dual))
