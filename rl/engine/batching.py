"""The ways to fill a batch, apart from the engine, so that settings load without PyTorch."""

from typing import Literal

__all__ = ["Batching"]

Batching = Literal["lockstep", "continuous"]
