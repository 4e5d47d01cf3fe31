"""``EpisodeSummary``: an episode without the text of its turns, small enough that a report reads thousands."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sandmle.grades import GradeReport
from sandmle.record import Record, VersionedRecord
from sandmle.trajectory import (
    MASKED_STATUSES,
    Chosen,
    Episode,
    EpisodeStatus,
    IsolationTier,
    Price,
    Protocol,
    Reward,
    Usage,
)

__all__ = ["NONE_SPENT", "EpisodeSummary", "Timing", "summarize_episode"]

NONE_SPENT = Usage()
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class Timing(Record):
    """Time and cost of one episode: all that may differ between two runs of the same thing.

    Attributes:
        wall_s: the whole episode.
        model_s: inside model calls.
        code_s: CPU of the agent's code.
        overhead_s: wall time of the steps that was not CPU of the agent's code (never below 0 a step).
        prompt_tokens: those of tries that failed for reasons of infrastructure included; so ``completion_tokens``.
    """

    wall_s: Seconds = 0.0
    model_s: Seconds = 0.0
    code_s: Seconds = 0.0
    overhead_s: Seconds = 0.0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0

    @property
    def tokens(self) -> int:
        """Of prompts and replies together."""
        return self.prompt_tokens + self.completion_tokens

    def cost(self, price: Price) -> float:
        """The money that the tokens cost."""
        return price.of(Usage(prompt_tokens=self.prompt_tokens, completion_tokens=self.completion_tokens))


class EpisodeSummary(VersionedRecord):
    """One line of ``episodes.jsonl``. Fields shared with ``Episode`` mean the same.

    Attributes:
        turns: model calls.
        format_ok: replies that the scaffold's parser accepted the first time.
        steps: runs of code; ``timed_out`` of them hit their time limit.
        tiers: the isolation that the steps really ran under, sorted.
    """

    id: str
    task_id: str
    task_hash: str
    scaffold: str
    policy: str
    protocol: Protocol
    repeat: Count
    privileged: bool
    status: EpisodeStatus
    reason: str
    turns: Count
    format_ok: Count
    steps: Count
    timed_out: Count
    tiers: tuple[IsolationTier, ...]
    grade: GradeReport | None
    reward: Reward | None
    pruned: Count
    history: tuple[Chosen, ...] = ()
    leaked: bool
    timing: Timing

    @property
    def masked(self) -> bool:
        """Whether the episode is kept out of every mean; decided by the status alone."""
        return self.status in MASKED_STATUSES


def summarize_episode(episode: Episode, discarded: Usage = NONE_SPENT) -> EpisodeSummary:
    """The summary of ``episode``: its turns reduced to counts and times; ``discarded`` tokens were spent beside it."""
    spent = sum((turn.usage for turn in episode.turns), start=discarded)
    steps = [turn.step for turn in episode.turns if turn.step is not None]
    shared = {name: getattr(episode, name) for name in EpisodeSummary.model_fields if name in _SHARED}
    return EpisodeSummary(
        **shared,
        turns=len(episode.turns),
        format_ok=sum(turn.format_ok for turn in episode.turns),
        steps=len(steps),
        timed_out=sum(step.status == "timeout" for step in steps),
        tiers=tuple(sorted({step.tier for step in steps})),
        timing=Timing(
            wall_s=episode.wall_s,
            model_s=sum(turn.model_s for turn in episode.turns),
            code_s=sum(step.cpu_s for step in steps),
            overhead_s=sum(max(step.wall_s - step.cpu_s, 0.0) for step in steps),
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
        ),
    )


_SHARED = frozenset(Episode.model_fields) - {"schema_version", "turns", "wall_s"}
