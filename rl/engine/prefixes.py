"""``Prefixes``: what a model computed for finished sequences, so that the next turn's prompt is not read again.

An agent's next prompt begins with all that was said before. Keys and values of that stay the same as long as the
weights do, so only the observation after it is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandmle.rl._torch import torch

if TYPE_CHECKING:
    from transformers import DynamicCache

__all__ = ["Prefix", "Prefixes", "recall"]

_MAX_BYTES = 512 << 20


@dataclass(frozen=True)
class Prefix:
    """What a model computed for ``ids``: of each layer keys and values, shape (2, heads, tokens, size)."""

    ids: tuple[int, ...]
    layers: tuple[torch.Tensor, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values."""
        return sum(layer.nbytes for layer in self.layers)


class Prefixes:
    """Sequences by their tokens, the newest up to a bound of memory."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        """An empty memory.

        Args:
            max_bytes: of keys and values; the oldest go first, and what is larger is not kept.
        """
        self._known: dict[tuple[int, ...], Prefix] = {}
        self._max_bytes = max_bytes
        self._bytes = 0

    def __len__(self) -> int:
        """Sequences that are kept."""
        return len(self._known)

    def forget(self) -> None:
        """Drop everything."""
        self._known, self._bytes = {}, 0

    def keep(self, ids: Sequence[int], cache: DynamicCache, row: int, columns: torch.Tensor) -> None:
        """Keep ``columns`` of a row of ``cache``, which are those of ``ids``, in place of what they go on from."""
        layers = tuple(torch.stack([each.keys[row, :, columns], each.values[row, :, columns]]) for each in cache.layers)
        prefix = Prefix(tuple(ids), layers)
        if prefix.nbytes > self._max_bytes:
            return
        for known in (prefix, self.find(prefix.ids)):
            if known is not None:
                self._drop(known.ids)
        self._known[prefix.ids] = prefix
        self._bytes += prefix.nbytes
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._known)))

    def find(self, prompt: tuple[int, ...]) -> Prefix | None:
        """The longest sequence that ``prompt`` goes on from, by one token at least."""
        found = [each for ids, each in self._known.items() if len(ids) < len(prompt) and prompt[: len(ids)] == ids]
        return max(found, key=lambda each: len(each.ids), default=None)

    def _drop(self, ids: tuple[int, ...]) -> None:
        if (prefix := self._known.pop(ids, None)) is not None:
            self._bytes -= prefix.nbytes


def recall(known: Sequence[Prefix | None]) -> tuple[DynamicCache, torch.Tensor]:
    """A cache with one row each, padded on the left, and which of its columns are real; shape (rows, columns)."""
    from transformers import DynamicCache

    cache, lengths = DynamicCache(), [len(each.ids) if each else 0 for each in known]
    width = max(lengths)
    present = torch.zeros((len(known), width), dtype=torch.long)
    for row, length in enumerate(lengths):
        present[row, width - length :] = 1
    some = next((each for each in known if each), None)
    for number, layer in enumerate(some.layers if some else ()):
        states = layer.new_zeros((2, len(known), layer.shape[1], width, layer.shape[3]))
        for row, each in enumerate(known):
            if each:
                states[:, row, :, width - lengths[row] :] = each.layers[number]
        cache.update(states[0], states[1], number)
    return cache, present
