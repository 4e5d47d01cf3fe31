"""``LocalEngine``: the engine of ``sandmle.agents.chat.tokens`` over a model in this process."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.errors import InfraError
from sandmle.rl.engine.batching import Batching
from sandmle.rl.engine.decoder import Decoder, Wanted

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

__all__ = ["LocalEngine"]

_STEPS = 8
"""Tokens between two looks at who waits and who has gone."""


def _burst(device: torch.device) -> int:
    """Tokens between two looks at what was sampled. A CPU looks at each, so that a finished reply costs no more."""
    return 1 if device.type == "cpu" else _STEPS


@dataclass(eq=False)
class _Asked:
    key: str
    wanted: Wanted
    answer: asyncio.Future[Sample]
    version: int = 0


class LocalEngine:
    """Samples from a model in this process; one event loop uses it at a time.

    Attributes:
        weight_version: updates behind the weights; the trainer sets it. A reply carries the one that it began with.
    """

    def __init__(
        self, model: PreTrainedModel, *, seed: int, batching: Batching = "continuous", max_batch: int = 64
    ) -> None:
        """An engine that owns nothing: the model stays the caller's.

        Args:
            model: in evaluation mode, or without dropout.
            seed: with the key of a call it fixes every draw.
            batching: how batches are filled.
            max_batch: most sequences at once; further ones wait.
        """
        self.weight_version = 0
        self._decoder = Decoder(model)
        self._burst = _burst(model.device)
        self._seed = seed
        self._batching = batching
        self._max_batch = max_batch
        self._waiting: list[_Asked] = []
        self._admitted: list[_Asked] = []
        self._running: dict[int, _Asked] = {}
        self._players = 0
        self._forget = False
        self._work: asyncio.Task[None] | None = None
        self._weights = asyncio.Lock()

    @contextmanager
    def player(self) -> Iterator[None]:
        """An episode that plays: in lockstep, a batch waits until each of them asks for a reply.

        With the last one the engine forgets what was said, so that later episodes are the same with or without these.
        """
        self._players += 1
        try:
            yield
        finally:
            self._players -= 1
            self._forget |= not self._players
            self._wake()

    @asynccontextmanager
    async def updating(self) -> AsyncIterator[None]:
        """No token is sampled inside, so the weights may change."""
        async with self._weights:
            self._decoder.forget()
            yield

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """See ``sandmle.agents.chat.tokens.Engine``."""
        digest = hashlib.sha256(key.encode()).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest[:8], "big")])
        wanted = Wanted(prompt, stop, settings.max_new_tokens, settings.temperature, rng)
        asked = _Asked(key, wanted, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        self._wake()
        return await asked.answer

    def _wake(self) -> None:
        """Begin to work, where there is work to begin."""
        if self._work is None and self._admissible():
            self._work = asyncio.get_running_loop().create_task(self._serve())
            self._work.add_done_callback(self._rested)

    def _rested(self, work: asyncio.Task[None]) -> None:
        self._work = None
        if not work.cancelled():
            self._wake()

    def _admissible(self) -> bool:
        """Whether prompts may join now; lockstep admits all at once, when nothing runs and every player waits."""
        idle = not (self._running or self._admitted)
        if self._batching == "continuous" or (idle and len(self._waiting) >= self._players):
            self._admitted += sorted(self._waiting, key=lambda each: each.key)
            self._waiting = []
        return bool(self._admitted) and len(self._running) < self._max_batch

    async def _serve(self) -> None:
        """Sample until nothing runs and nothing may join."""
        try:
            while self._running or self._admissible():
                self._forget_the_gone()
                joining = self._take() if self._admissible() else []
                async with self._weights:
                    for each in joining:
                        each.version = self.weight_version
                    finished = await asyncio.to_thread(self._advance, [each.wanted for each in joining])
                for wanted in finished:
                    asked = self._running.pop(id(wanted))
                    if not asked.answer.done():
                        asked.answer.set_result(Sample(tuple(wanted.ids), tuple(wanted.logprobs), asked.version))
                await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            self._fail(error)

    def _take(self) -> list[_Asked]:
        """The next admitted prompts that there is room for."""
        room = self._max_batch - len(self._running)
        joining, self._admitted = self._admitted[:room], self._admitted[room:]
        self._running |= {id(each.wanted): each for each in joining}
        return joining

    def _advance(self, joining: list[Wanted]) -> list[Wanted]:
        """A few tokens; ends early when a reply is finished, so that nobody waits for the others' sake."""
        if self._forget:
            self._forget = False
            self._decoder.forget()
        finished = self._decoder.admit(joining) if joining else []
        for _ in range(0, _STEPS, self._burst):
            if finished or not len(self._decoder):
                break
            finished = self._decoder.step(self._burst)
        return finished

    def _forget_the_gone(self) -> None:
        """Drop what nobody waits for any more: cancelled, or out of time."""
        self._waiting = [each for each in self._waiting if not each.answer.done()]
        self._admitted = [each for each in self._admitted if not each.answer.done()]
        for mark, asked in list(self._running.items()):
            if asked.answer.done():
                self._decoder.drop(asked.wanted)
                del self._running[mark]

    def _fail(self, error: Exception) -> None:
        for asked in [*self._waiting, *self._admitted, *self._running.values()]:
            self._decoder.drop(asked.wanted)
            if not asked.answer.done():
                asked.answer.set_exception(InfraError(f"the engine failed: {type(error).__name__}: {error}"))
        self._waiting, self._admitted, self._running = [], [], {}
