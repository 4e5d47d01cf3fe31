"""From the losses of tokens to one: four ways, by verl's names.

    token-mean               sum over all tokens / tokens of the batch
    seq-mean-token-mean      mean over rows of the mean over their tokens
    seq-mean-token-sum       mean over rows of the sum over their tokens
    seq-mean-token-sum-norm  the same / a constant horizon (Dr. GRPO, arXiv 2503.20783)

Means are over the whole batch, so what micro-batches give adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sandmle.rl._torch import Tensor, torch
from sandmle.rl.batches import Totals
from sandmle.rl.losses.settings import Aggregation

__all__ = ["aggregate", "masked_mean"]


def _token_mean(values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
    return values.sum() / totals.tokens


def _seq_mean_token_mean(values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
    return (values.sum(-1) / mask.sum(-1).clamp(min=1)).sum() / totals.rows


def _seq_mean_token_sum(values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
    return values.sum() / totals.rows


_WAYS: Mapping[Aggregation, Callable[[Tensor, Tensor, Totals], Tensor]] = MappingProxyType(
    {
        "token-mean": _token_mean,
        "seq-mean-token-mean": _seq_mean_token_mean,
        "seq-mean-token-sum": _seq_mean_token_sum,
        "seq-mean-token-sum-norm": _seq_mean_token_sum,
    }
)


def aggregate(values: Tensor, mask: Tensor, totals: Totals, way: Aggregation, horizon: int | None = None) -> Tensor:
    """This micro-batch's part of the batch's aggregate.

    Args:
        values: one a token, shape (rows, width); anything outside the mask, even nan.
        mask: the loss mask, bool, same shape.
        totals: of the whole batch.
        way: which aggregate.
        horizon: divides the aggregate where given.

    Returns:
        A scalar tensor.
    """
    part = _WAYS[way](torch.where(mask, values, 0.0), mask, totals)
    return part if horizon is None else part / horizon


def masked_mean(values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
    """This micro-batch's part of the batch's mean over tokens, for a metric: no gradient."""
    return aggregate(values.detach(), mask, totals, "token-mean")
