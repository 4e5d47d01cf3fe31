"""Which episodes are exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sandmle.errors import BadInput
from sandmle.eval.runs import read_run
from sandmle.record import Record
from sandmle.rl.exports._conversations import conversations
from sandmle.trajectory import Episode

__all__ = ["Selection", "selected_episodes"]


class Selection(Record):
    """What is worth learning from. Masked episodes, those without a turn and those that saw hidden labels never are.

    Attributes:
        min_reward: least reward.
        valid: only episodes whose submission is valid.
        max_tokens: longest conversation, at four characters a token; None for any.
        learn_failed_steps: learn replies whose code failed.
    """

    min_reward: Annotated[float, Field(ge=0, le=1)] = 0.0
    valid: bool = False
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    learn_failed_steps: bool = True

    def against(self, episode: Episode) -> str | None:
        """Why an episode is left out; None if it is not."""
        if episode.masked:
            return "masked"
        if episode.leaked:
            return "leaked"
        if not episode.turns:
            return "empty"
        if self.valid and not (episode.grade and episode.grade.valid):
            return "invalid"
        if (episode.reward.total if episode.reward else 0.0) < self.min_reward:
            return "reward"
        if self.max_tokens and any(each.tokens > self.max_tokens for each in conversations(episode)):
            return "too long"
        return None


def selected_episodes(folder: Path, selection: Selection, left_out: Counter[str]) -> Iterator[Episode]:
    """The episodes of ``folder`` that are worth learning from, one by one, in a fixed order.

    Args:
        folder: of a run, or of a training that keeps transcripts.
        selection: what is worth learning from.
        left_out: counts the others, by the reason.

    Raises:
        BadInput: the folder is neither, or a transcript is missing or broken.
    """
    for path in _transcripts(folder):
        episode = Episode.read(path)
        reason = selection.against(episode)
        if reason is None:
            yield episode
        else:
            left_out[reason] += 1


def _transcripts(folder: Path) -> list[Path]:
    if (folder / "run.json").exists():
        return [folder / "transcripts" / f"{summary.id}.json" for summary in read_run(folder).episodes]
    if not (folder / "train.json").exists():
        raise BadInput(f"{folder}: neither a run of `sandmle eval` nor a training of `sandmle train`")
    found = sorted((folder / "transcripts").glob("*.json"))
    if not found:
        raise BadInput(f"{folder}: this training kept no transcripts; set `transcripts = true` in its [grpo]")
    return found
