"""How an evaluation stands while it runs: mean rewards, tokens, cost and the time left."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from sandmle.cli._words import spell_cost, spell_time
from sandmle.eval.runner import EpisodeFinished, RunEvent, RunStarted
from sandmle.eval.runs import EpisodeSummary
from sandmle.trajectory import Price

__all__ = ["Standing"]

Pair = tuple[str, str]


class Standing:
    """Counts the events of a run.

    Args:
        now: clock in seconds.

    Attributes:
        total: episodes of the run, of which ``done`` are finished.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._start = now()
        self._prices: Mapping[str, Price] = {}
        self._rewards: dict[Pair, list[float]] = defaultdict(list)
        self._tokens: Counter[Pair] = Counter()
        self._money: dict[Pair, float] = defaultdict(float)
        self._earlier = 0
        self.total = 0
        self.done = 0

    def add(self, event: RunEvent) -> None:
        """Count an event."""
        match event:
            case RunStarted(total=total, done=done, prices=prices):
                self._prices, self.total, self._earlier = prices, total, len(done)
                for episode in done:
                    self._count(episode)
            case EpisodeFinished(episode=episode):
                self._count(episode)

    def _count(self, episode: EpisodeSummary) -> None:
        pair, price = (episode.scaffold, episode.policy), self._prices.get(episode.policy)
        self.done += 1
        self._tokens[pair] += episode.timing.tokens
        self._money[pair] += episode.timing.cost(price) if price else 0.0
        if episode.reward is not None:
            self._rewards[pair].append(episode.reward.total)

    def mean(self, pair: Pair) -> str:
        """The mean reward of a scaffold and policy over its unmasked episodes; empty before the first."""
        rewards = self._rewards[pair]
        return f"{sum(rewards) / len(rewards):.3f}" if rewards else ""

    def cost(self, pair: Pair | None = None) -> str:
        """Tokens of a scaffold and policy and what they cost, or of all; empty where no tokens were counted."""
        if pair is not None:
            return spell_cost(self._tokens[pair], self._money[pair])
        tokens, money = self._tokens.total(), sum(self._money.values())
        line = spell_cost(tokens, money)
        unfinished = money and 0 < self.done < self.total
        return line + (f", about {money / self.done * self.total:.2f} for all {self.total}" if unfinished else "")

    def time_left(self) -> str:
        """How long the run will go on at the pace of its finished episodes; those of earlier commands don't count."""
        finished, left = self.done - self._earlier, self.total - self.done
        if not finished or not left:
            return ""
        return f"about {spell_time((self._now() - self._start) / finished * left)} left"
