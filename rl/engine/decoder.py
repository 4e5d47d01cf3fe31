"""``Decoder``: many sequences of different lengths, sampled token by token with one cache.

Rows are padded on the left of what is read at once, so that all end in the same column; positions count real tokens,
and the mask hides the padding. Joining rows widens the narrower cache on the left; when rows leave, columns that only
pad are cut off, and what was computed for them is kept for the prompts that go on from there (``prefixes``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from sandmle.rl._torch import torch
from sandmle.rl.engine.prefixes import Prefix, Prefixes, recall

if TYPE_CHECKING:
    from transformers import DynamicCache, PreTrainedModel

__all__ = ["Decoder", "Wanted"]


@dataclass(eq=False)
class Wanted:
    """A reply that is being sampled.

    Attributes:
        prompt: the ids before it.
        stop: the id that ends it.
        max_new_tokens: longest reply.
        temperature: 0 takes the likeliest token.
        rng: one number is drawn for each token.
        ids: sampled so far; ``logprobs`` of each at temperature 1.
    """

    prompt: Sequence[int]
    stop: int
    max_new_tokens: int
    temperature: float
    rng: np.random.Generator
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether it ended, or is as long as it may be."""
        return len(self.ids) >= self.max_new_tokens or bool(self.ids and self.ids[-1] == self.stop)


class Decoder:
    """A batch that sequences join and leave."""

    def __init__(self, model: PreTrainedModel) -> None:
        """A decoder for ``model``, which must take position ids and a cache, as all decoders of transformers do."""
        self._model = model
        taken = signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in taken else "past_key_values"
        self._prefixes = Prefixes()
        self._outdated: set[Wanted] = set()
        self._rows: list[Wanted] = []
        self._cache: DynamicCache | None = None
        self._present = torch.zeros((0, 0), dtype=torch.long, device=model.device)

    def __len__(self) -> int:
        """Sequences in the batch."""
        return len(self._rows)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def admit(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Read prompts and sample their first token; what is finished already.

        Equal prompts are read once, and of one that goes on from a finished sequence only what is new.
        """
        known = {prompt: self._prefixes.find(prompt) for prompt in (tuple(each.prompt) for each in wanted)}
        logits = []
        for part in _parts(known):
            rows = [each for each in wanted if tuple(each.prompt) in part]
            logits.append(self._read(part, rows))
        wanted = self._rows[-len(wanted) :]
        sampler = _Sampler(wanted, 1, self._model.device)
        sampler.sample(torch.cat(logits), 0)
        sampler.hand_out()
        return self._leave()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def step(self, tokens: int = 1) -> list[Wanted]:
        """Sample more tokens of every sequence; what is finished with them.

        Nothing comes back from the device between two tokens, so a GPU is never waited for until the last. What was
        sampled beyond a reply's end is dropped.
        """
        last = torch.tensor([[each.ids[-1]] for each in self._rows], device=self._model.device)
        sampler = _Sampler(self._rows, tokens, self._model.device)
        for place in range(tokens):
            self._present = torch.nn.functional.pad(self._present, (0, 1), value=1)
            last = sampler.sample(self._forward(last, self._present, self._cache), place)
        sampler.hand_out()
        return self._leave()

    def _read(self, known: Mapping[tuple[int, ...], Prefix | None], wanted: list[Wanted]) -> torch.Tensor:
        """Let ``wanted`` join, whose prompts are ``known`` up to a prefix; logits, shape (rows, vocabulary)."""
        cache, before = recall(list(known.values()))
        ids, after = _padded([prompt[len(each.ids) if each else 0 :] for prompt, each in known.items()])
        present = torch.cat([before, after], dim=1).to(self._model.device)
        logits = self._forward(ids.to(self._model.device), present, cache)
        place = {prompt: row for row, prompt in enumerate(known)}
        rows = torch.tensor([place[tuple(each.prompt)] for each in wanted], device=self._model.device)
        for layer in cache.layers:
            layer.keys, layer.values = layer.keys[rows], layer.values[rows]
        self._join(wanted, cache, present[rows])
        return logits[rows]

    def forget(self) -> None:
        """Forget what was computed for finished sequences, and keep nothing of those that run: the weights changed."""
        self._prefixes.forget()
        self._outdated = set(self._rows)

    def drop(self, wanted: Wanted) -> None:
        """Take a sequence out that nobody waits for any more."""
        if wanted in self._rows:
            self._keep([row for row, each in enumerate(self._rows) if each is not wanted])

    def _forward(self, ids: torch.Tensor, present: torch.Tensor, cache: Any) -> torch.Tensor:  # noqa: ANN401 - lazy type
        """Logits after the last column; shape (rows, vocabulary), float32."""
        positions = (present.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self._model(
            input_ids=ids,
            attention_mask=present,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: cache},
        )
        logits: torch.Tensor = out.logits[:, -1].float()
        return logits

    def _join(self, wanted: list[Wanted], cache: DynamicCache, present: torch.Tensor) -> None:
        if self._cache is None:
            self._rows, self._cache, self._present = wanted, cache, present
            return
        width = max(self._present.shape[1], present.shape[1])
        for ours, theirs in zip(self._cache.layers, cache.layers, strict=True):
            ours.keys = torch.cat([_widen(ours.keys, width), _widen(theirs.keys, width)])
            ours.values = torch.cat([_widen(ours.values, width), _widen(theirs.values, width)])
        pads = [torch.nn.functional.pad(each, (width - each.shape[1], 0)) for each in (self._present, present)]
        self._present = torch.cat(pads)
        self._rows += wanted

    def _leave(self) -> list[Wanted]:
        finished = [each for each in self._rows if each.finished]
        if finished:
            self._remember()
            self._keep([row for row, each in enumerate(self._rows) if not each.finished])
        return finished

    def _remember(self) -> None:
        """Keep what was computed for finished sequences; their last token was never read."""
        assert self._cache is not None
        for row, each in enumerate(self._rows):
            if each.finished and each not in self._outdated:
                ids = [*each.prompt, *each.ids[:-1]]
                self._prefixes.keep(ids, self._cache, row, self._present[row].nonzero()[: len(ids), 0])

    def _keep(self, rows: list[int]) -> None:
        self._rows = [self._rows[row] for row in rows]
        if not rows or self._cache is None:
            self._cache, self._present = None, self._present[:0, :0]
            return
        kept = torch.tensor(rows, device=self._present.device)
        self._present = self._present[kept]
        first = int(self._present.argmax(dim=1).min())
        self._present = self._present[:, first:]
        for layer in self._cache.layers:
            layer.keys, layer.values = layer.keys[kept, :, first:], layer.values[kept, :, first:]


def _widen(states: torch.Tensor, width: int) -> torch.Tensor:
    """Keys or values of shape (rows, heads, columns, size), padded on the left to ``width`` columns."""
    return torch.nn.functional.pad(states, (0, 0, width - states.shape[2], 0))


def _parts(known: Mapping[tuple[int, ...], Prefix | None]) -> list[dict[tuple[int, ...], Prefix | None]]:
    """Prompts with a prefix apart from those without: read together they would pad one another on both sides."""
    parts: tuple[dict[tuple[int, ...], Prefix | None], ...] = ({}, {})
    for prompt, prefix in known.items():
        parts[prefix is None][prompt] = prefix
    return [part for part in parts if part]


def _padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and which of them are real, both of shape (rows, columns), padded on the left."""
    width = max(map(len, rows))
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    present = torch.zeros_like(ids)
    for row, found in enumerate(rows):
        ids[row, width - len(found) :] = torch.tensor(found)
        present[row, width - len(found) :] = 1
    return ids, present


class _Sampler:
    """Takes tokens by the inverse of the cumulative distribution at one uniform number each."""

    def __init__(self, wanted: Sequence[Wanted], tokens: int, device: torch.device) -> None:
        self._wanted = wanted
        self._warm = torch.tensor([[each.temperature or 1.0] for each in wanted], device=device)
        self._greedy = torch.tensor([each.temperature == 0 for each in wanted], device=device)
        self._draws = torch.tensor(np.stack([each.rng.random(tokens) for each in wanted]), device=device)
        self._tokens: list[torch.Tensor] = []
        self._logprobs: list[torch.Tensor] = []

    def sample(self, logits: torch.Tensor, place: int) -> torch.Tensor:
        """One token of each sequence, shape (rows, 1)."""
        cumulated = torch.softmax(logits.double() / self._warm, dim=-1).cumsum(-1)
        draws = self._draws[:, place, None] * cumulated[:, -1:]
        drawn = torch.searchsorted(cumulated, draws, right=True)[:, 0].clamp(max=logits.shape[1] - 1)
        tokens = torch.where(self._greedy, logits.argmax(dim=-1), drawn)[:, None]
        self._tokens.append(tokens)
        self._logprobs.append(torch.log_softmax(logits, dim=-1).gather(1, tokens))
        return tokens

    def hand_out(self) -> None:
        """Give each sequence its tokens, up to its end."""
        tokens, logprobs = torch.cat(self._tokens, dim=1).tolist(), torch.cat(self._logprobs, dim=1).tolist()
        for each, ids, found in zip(self._wanted, tokens, logprobs, strict=True):
            for token, logprob in zip(ids, found, strict=True):
                if not each.finished:
                    each.ids.append(token)
                    each.logprobs.append(logprob)
