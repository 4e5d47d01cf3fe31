"""The gradients of a batch: those of its micro-batches, added up in their order.

    micro-batch 0 ── thread ──▶ gradients ┐
    micro-batch 1 ── thread ──▶ gradients ┼──▶ parameter.grad
    micro-batch 2 ── thread ──▶ gradients ┘

A tiny policy leaves cores idle: what it computes at once is too small to be divided. Its micro-batches are not, and as
the order of the sum is theirs, however many are computed at once, the sum is the same to the last bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from sandmle.rl._torch import Tensor, torch
from sandmle.rl.batches import Batch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Gradients", "Loss", "Metrics"]

Metrics = dict[str, float]
Loss = Callable[[Batch], tuple[Tensor, dict[str, Tensor]]]
"""A micro-batch's part of the loss of the whole batch, and of its metrics."""
_Found = tuple[tuple[Tensor | None, ...], Metrics]


class Gradients:
    """Adds gradients to those of a model's parameters."""

    def __init__(self, model: PreTrainedModel, at_once: int) -> None:
        """Of those parameters that need gradients.

        Args:
            model: one without dropout, if several are computed at once.
            at_once: micro-batches that are computed at once.
        """
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._at_once = at_once
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="micro-batch")

    def add(self, batches: Iterable[Batch], loss: Loss) -> Metrics:
        """Add the gradients of all ``batches``; the sums of their metrics."""
        metrics: Metrics = {}
        for found in self._by_turns(batches, loss) if self._at_once == 1 else self._side_by_side(batches, loss):
            metrics = {name: metrics.get(name, 0.0) + value for name, value in found.items()}
        return metrics

    def _by_turns(self, batches: Iterable[Batch], loss: Loss) -> Iterator[Metrics]:
        for batch in batches:
            part, metrics = loss(batch)
            part.backward()
            yield _numbers(metrics)

    def _side_by_side(self, batches: Iterable[Batch], loss: Loss) -> Iterator[Metrics]:
        for gradients, metrics in self._computed(batches, loss):
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                if gradient is not None:
                    parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
            yield metrics

    def _computed(self, batches: Iterable[Batch], loss: Loss) -> Iterator[_Found]:
        """What is found of each batch, in order; one waits for a thread, lest a thread waits for it."""

        def compute(batch: Batch) -> _Found:
            part, metrics = loss(batch)
            return torch.autograd.grad(part, self._parameters, allow_unused=True), _numbers(metrics)

        begun: deque[Future[_Found]] = deque()
        for batch in batches:
            if len(begun) > self._at_once:
                yield begun.popleft().result()
            begun.append(self._pool.submit(compute, batch))
        while begun:
            yield begun.popleft().result()


def _numbers(metrics: dict[str, Tensor]) -> Metrics:
    return {name: float(value) for name, value in metrics.items()}
