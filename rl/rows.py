"""From the tokens of an episode to rows: sequences that are extended by tokens and never encoded again.

    turn 1  prompt ─ reply                         one row, as long as each prompt
    turn 2  prompt ─ reply ─ observation ─ reply   begins with all that came before it
    turn 3  another prompt ─ reply                 a prefix break: a new row

A prompt that does not begin with what the row holds (the scaffold left old observations out, or asked something new)
starts a new row, and is counted. Scaffolds that prompt anew each time, such as ``aide``, give one row a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sandmle.agents.chat.tokens import Renderer
from sandmle.errors import BadInput
from sandmle.rl.types import CONTEXT, Row
from sandmle.trajectory import Episode

__all__ = ["EpisodeRows", "demonstration_rows", "sampled_rows"]


class EpisodeRows(NamedTuple):
    """The rows of an episode, and how often its prompts broke with what came before."""

    rows: tuple[Row, ...]
    breaks: int


@dataclass
class _Growing:
    """A row that turns are added to."""

    token_ids: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    learnt: list[bool] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)

    def begins(self, prompt: Sequence[int]) -> bool:
        """Whether ``prompt`` begins with all that the row holds."""
        return list(prompt[: len(self.token_ids)]) == self.token_ids

    def add(
        self, prompt: Sequence[int], turn: int, reply: Sequence[int], logprobs: Sequence[float], learn: bool
    ) -> None:
        context = prompt[len(self.token_ids) :]
        self.token_ids += [*context, *reply]
        self.turns += [CONTEXT] * len(context) + [turn] * len(reply)
        self.logprobs += [0.0] * len(context) + list(logprobs)
        self.learnt += [False] * len(context) + [learn] * len(reply)

    def row(self) -> Row:
        return Row(
            token_ids=np.array(self.token_ids, dtype=np.int64),
            turns=np.array(self.turns, dtype=np.int64),
            mask=np.array(self.learnt, dtype=np.bool_),
            sampler_logprobs=np.array(self.logprobs, dtype=np.float64),
            weight_version=min(self.versions, default=0),
        )


def sampled_rows(episode: Episode) -> EpisodeRows:
    """The rows of an episode whose policy reported token ids.

    Every sampled token is in the loss mask.

    Raises:
        BadInput: a turn has no token ids: the endpoint sent only text, from which no faithful row can be made.
    """
    grown: list[_Growing] = []
    for turn in episode.turns:
        fields = turn.tokens
        if fields is None:
            raise BadInput(
                f"episode {episode.id}, turn {turn.index}: no token ids; train on a policy that reports them"
                " (`train:` or `tokens:`), not on a chat endpoint"
            )
        if not grown or not grown[-1].begins(fields.prompt_ids):
            grown.append(_Growing())
        grown[-1].add(fields.prompt_ids, turn.index, fields.completion_ids, fields.logprobs, learn=True)
        if turn.weight_version is not None:
            grown[-1].versions.append(turn.weight_version)
    return EpisodeRows(tuple(each.row() for each in grown), max(len(grown) - 1, 0))


def demonstration_rows(episode: Episode, renderer: Renderer, *, learn_failed_steps: bool = True) -> EpisodeRows:
    """The rows of an episode that somebody else played, such as a scripted policy or a teacher behind a chat endpoint.

    Its replies are encoded as if they had been sampled, with log-probabilities of 0; only they are in the loss mask.

    Args:
        episode: whose ``Turn.messages`` are those that are new in a turn, as the scaffolds record them.
        renderer: the student's chat format.
        learn_failed_steps: whether replies are learnt from whose code failed.
    """
    grown: list[_Growing] = []
    prompt: list[int] = []
    for turn in episode.turns:
        if turn.anew or not grown:
            grown.append(_Growing())
            prompt = []
        prompt += [each for message in turn.messages for each in renderer.message(message)]
        sent, reply = [*prompt, *renderer.prompt_end()], renderer.reply_ids(turn.reply)
        learn = learn_failed_steps or not turn.failed
        grown[-1].add(sent, turn.index, reply, [0.0] * len(reply), learn=learn)
        prompt = [*sent, *renderer.reply(reply)]
    return EpisodeRows(tuple(each.row() for each in grown), max(len(grown) - 1, 0))
