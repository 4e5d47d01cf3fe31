"""PyTorch, or one line that tells how to get it; imported by modules that can't do without."""

from __future__ import annotations

from sandmle.errors import EnvironmentProblem

__all__ = ["Tensor", "torch"]

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    raise EnvironmentProblem("PyTorch is not installed: pip install 'sandmle[train]'") from error
