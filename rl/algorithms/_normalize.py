"""Returns of one group less their mean, over their spread."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sandmle.rl.types import Floats

__all__ = ["EPS", "Std", "normalize"]

Std = Literal["population", "sample", "none"]
"""What a centred return is divided by: the standard deviation of the group with divisor n (rLLM, and so the paper) or
n - 1 (verl, TRL), or nothing (Dr. GRPO, arXiv 2503.20783: no preference for tasks of little spread)."""

EPS = 1e-6
"""Added to the standard deviation, as rLLM and verl do."""


def normalize(returns: Floats, std: Std, eps: float) -> Floats:
    """(r - mean) / (std + eps), or r - mean; shape (n,) with n >= 2."""
    centred: Floats = returns - returns.mean()
    if std != "none":
        centred /= np.std(returns, ddof=int(std == "sample")) + eps
    return centred
