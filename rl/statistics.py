"""What an episode's tokens say about it: how many were sampled, and whether they make one row."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from sandmle.rl.rows import sampled_rows
from sandmle.trajectory import Episode

__all__ = ["TokenStatistics"]


@dataclass(frozen=True, kw_only=True)
class TokenStatistics:
    """Of one episode or of several.

    Attributes:
        episodes: in all; ``told`` of them came with the ids of their tokens, and only these have rows and breaks.
        turns: model calls.
        sampled: tokens of replies, as the ids or else the endpoint's counts say.
        longest: tokens of the longest prompt and its reply.
        rows: sequences that a trainer would learn from; ``breaks`` of them begin since a prompt broke with its past.
        logprob: sum over the sampled tokens whose ids are known, ``known``, in nats.
    """

    episodes: int = 0
    told: int = 0
    turns: int = 0
    sampled: int = 0
    longest: int = 0
    rows: int = 0
    breaks: int = 0
    known: int = 0
    logprob: float = 0.0

    @classmethod
    def of(cls, episode: Episode) -> Self:
        """Of one episode."""
        fields = [turn.tokens for turn in episode.turns]
        whole = bool(fields) and all(each is not None for each in fields)
        rows, breaks = sampled_rows(episode) if whole else ((), 0)
        counted = [turn.usage for turn in episode.turns]
        logprobs = [logprob for each in fields if each is not None for logprob in each.logprobs]
        return cls(
            episodes=1,
            told=int(whole),
            turns=len(fields),
            sampled=len(logprobs) if whole else sum(usage.completion_tokens for usage in counted),
            longest=max((len(row) for row in rows), default=max((usage.tokens for usage in counted), default=0)),
            rows=len(rows),
            breaks=breaks,
            known=len(logprobs),
            logprob=math.fsum(logprobs),
        )

    @classmethod
    def of_all(cls, episodes: Iterable[Episode]) -> Self:
        """Of several episodes; read one by one."""
        found = cls()
        for each in episodes:
            found += cls.of(each)
        return found

    def __add__(self, other: Self) -> Self:
        """Both together."""
        summed = {name: getattr(self, name) + getattr(other, name) for name in vars(self) if name != "longest"}
        return type(self)(**summed, longest=max(self.longest, other.longest))

    @property
    def mean_logprob(self) -> float | None:
        """Of a sampled token, in nats; None where no ids are known."""
        return self.logprob / self.known if self.known else None
