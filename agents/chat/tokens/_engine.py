"""What a ``TokenChat`` asks of an engine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from sandmle.record import Record

__all__ = ["Engine", "Sample", "SamplingSettings"]


class SamplingSettings(Record):
    """How a reply is sampled.

    Attributes:
        temperature: 0 takes the likeliest token each time.
        max_new_tokens: longest reply.
        max_tokens: longest prompt and reply together, the model's context.
    """

    temperature: Annotated[float, Field(ge=0)] = 1.0
    max_new_tokens: Annotated[int, Field(gt=0)] = 1_024
    max_tokens: Annotated[int, Field(gt=0)] = 32_768


@dataclass(frozen=True)
class Sample:
    """One sampled reply.

    Attributes:
        ids: sampled ids, the stop id included where it was sampled; at least one.
        logprobs: of each id, in nats, under the distribution it was drawn from at temperature 1.
        weight_version: of the weights, as far as the engine knows.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    weight_version: int | None = None


class Engine(Protocol):
    """Samples replies to prompts of token ids."""

    def player(self) -> AbstractContextManager[None]:
        """Held while an episode plays, so that an engine can know whom a batch may wait for."""
        ...

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """Sample one reply.

        Args:
            prompt: what the model is sent.
            settings: how to sample.
            stop: the id that ends a reply.
            key: names this call within a run; with the run's seed it fixes every draw.

        Raises:
            InfraError: the engine failed.
            EnvironmentProblem: the user must act, such as start the server.
        """
        ...
