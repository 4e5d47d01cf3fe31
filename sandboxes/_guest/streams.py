"""The random streams of forks."""

from __future__ import annotations

import random
import sys

__all__ = ["diverge"]


def diverge(index: int) -> None:
    """Give the global generators of fork number ``index`` streams of their own, which depend on their state alone."""
    random.seed(f"{random.getrandbits(64)}-{index}")
    if "numpy" in sys.modules:
        generator = sys.modules["numpy"].random
        generator.seed([*generator.randint(0, 1 << 31, size=4).tolist(), index])
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(int(torch.randint(1 << 62, ())) ^ index)
