"""From groups to padded arrays: examples, batches, micro-batches, and what a loss is averaged over.

    examples = [example for group in groups for example in make_examples(group, estimator)]
    totals = Totals.of(examples)                                  # before the batch is split
    for batch in micro_batches(examples, max_tokens=16_384): ...  # losses of all add up to the loss of the whole batch

A micro-batch never averages over itself: it divides by the totals of the whole batch. Dividing by its own tokens and
then by the number of micro-batches would weigh tokens by how they were packed (verl issues 2368 and 5625).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sandmle.rl.algorithms import Estimator
from sandmle.rl.types import CONTEXT, Bools, Example, Floats, Group, Ints

__all__ = ["Batch", "Totals", "make_examples", "micro_batches", "pad"]


@dataclass(frozen=True)
class Totals:
    """What the loss of a whole batch is averaged over.

    Attributes:
        rows: those with a token in the loss mask.
        tokens: in the loss mask.
    """

    rows: int
    tokens: int

    def __post_init__(self) -> None:
        """Refuse a batch without anything to learn from.

        Raises:
            ValueError: no token is in the loss mask.
        """
        if not 1 <= self.rows <= self.tokens:
            raise ValueError(f"a batch of {self.tokens} tokens in {self.rows} rows has no loss: skip the update")

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Self:
        """The totals of a batch.

        Raises:
            ValueError: no token is in the loss mask.
        """
        tokens = [int(example.row.mask.sum()) for example in examples]
        return cls(rows=sum(map(bool, tokens)), tokens=sum(tokens))


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples padded on the right to one width; all arrays have the shape (rows, width).

    Attributes:
        token_ids: padded with the tokenizer's id of padding.
        present: where a token is, as opposed to padding.
        mask: the loss mask.
        advantages: 0 outside the loss mask.
        sampler_logprobs: 0 outside the loss mask.
        old_logprobs: 0 where they are not known.
    """

    token_ids: Ints
    present: Bools
    mask: Bools
    advantages: Floats
    sampler_logprobs: Floats
    old_logprobs: Floats


def make_examples(group: Group, estimator: Estimator) -> tuple[Example, ...]:
    """The rows of the counted rollouts with their advantages; each token has that of its turn."""
    counted = group.counted
    of_rollouts = estimator.advantages([np.array(rollout.turn_rewards) for rollout in counted])
    return tuple(
        Example(row, _spread(row.turns, row.mask, of_turns))
        for rollout, of_turns in zip(counted, of_rollouts, strict=True)
        for row in rollout.rows
    )


def _spread(turns: Ints, mask: Bools, of_turns: Floats) -> Floats:
    learnt = mask & (turns != CONTEXT)
    found = np.zeros(len(turns))
    found[learnt] = of_turns[turns[learnt]]
    return found


def pad(examples: Sequence[Example], pad_id: int) -> Batch:
    """One batch as wide as its longest row."""
    shape = (len(examples), max(len(example.row) for example in examples))
    batch = Batch(
        token_ids=np.full(shape, pad_id, dtype=np.int64),
        present=np.zeros(shape, dtype=np.bool_),
        mask=np.zeros(shape, dtype=np.bool_),
        advantages=np.zeros(shape),
        sampler_logprobs=np.zeros(shape),
        old_logprobs=np.zeros(shape),
    )
    for index, example in enumerate(examples):
        row, here = example.row, np.s_[index, : len(example.row)]
        batch.token_ids[here] = row.token_ids
        batch.present[here] = True
        batch.mask[here] = row.mask
        batch.advantages[here] = example.advantages
        batch.sampler_logprobs[here] = np.where(row.mask, row.sampler_logprobs, 0.0)
        if example.old_logprobs is not None:
            batch.old_logprobs[here] = example.old_logprobs
    return batch


def micro_batches(examples: Sequence[Example], *, max_tokens: int, pad_id: int) -> Iterator[Batch]:
    """Batches of at most ``max_tokens`` cells, padding included; rows of like length lie together.

    A row that is longer has a batch of its own.
    """
    ordered = sorted(examples, key=lambda example: len(example.row))
    pending: list[Example] = []
    for example in ordered:
        if pending and (len(pending) + 1) * len(example.row) > max_tokens:
            yield pad(pending, pad_id)
            pending = []
        pending.append(example)
    if pending:
        yield pad(pending, pad_id)
