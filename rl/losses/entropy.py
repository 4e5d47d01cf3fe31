"""The entropy of the next token's distribution: falling to 0 it tells that the policy stops exploring."""

from __future__ import annotations

from sandmle.rl._torch import Tensor, torch

__all__ = ["token_entropy"]


def token_entropy(logits: Tensor) -> Tensor:
    """The entropy in nats of logits z: log(sum exp z) - sum(softmax(z) z).

    Logits of shape (..., vocabulary) give a tensor of shape (...).
    """
    return torch.logsumexp(logits, dim=-1) - (logits.softmax(dim=-1) * logits).sum(dim=-1)
