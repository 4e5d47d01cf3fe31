"""What ends a training that rLLM alone would go on with: faults of the user's, and a batch that came to nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.rllm.records import counts
from sandmle.trajectory import Episode, EpisodeStatus

__all__ = ["Trouble", "nothing_came_through"]


def nothing_came_through(reasons: Counter[str]) -> EnvironmentProblem:
    """Of a whole update no rollout counts; how many of each reason."""
    told = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    if reasons.most_common(1)[0][0] == EpisodeStatus.CANCELLED.value:
        return EnvironmentProblem(
            f"no rollout of an update ended before it was given up ({told}); raise rollouts.give_up_s, which recipes"
            " call play.give_up_seconds, and run the same command again"
        )
    return EnvironmentProblem(
        f"every rollout of an update failed for a reason of infrastructure ({told}; `sandmle -v` tells more); mend"
        " it and run the same command again"
    )


class Trouble:
    """Listens while rLLM's asynchronous loop runs, which nobody asks between two updates."""

    def __init__(self, patience: int) -> None:
        """Be ready, in a running event loop, to hear of ``patience`` masked episodes in a row at most."""
        self._patience = patience
        self._masked: Counter[str] = Counter()
        self._found: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, error: BadInput | EnvironmentProblem) -> None:
        """End the training with ``error``."""
        if not self._found.done():
            self._found.set_exception(error)

    def hear(self, episode: Episode) -> None:
        """Count an episode that has ended."""
        if counts(episode):
            self._masked.clear()
            return
        self._masked[episode.status.value] += 1
        if self._masked.total() >= self._patience:
            self.tell(nothing_came_through(self._masked))

    async def unless(self, training: Coroutine[Any, Any, None]) -> None:
        """Run ``training`` to its end, or until there is trouble, which is raised.

        Raises:
            BadInput: an episode could not be played until the user changes something.
            EnvironmentProblem: likewise, or no episode came through.
        """
        running = asyncio.ensure_future(training)
        try:
            await asyncio.wait({running, self._found}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait({running})
        if self._found.done():
            self._found.result()
        self._found.cancel()
        running.result()
