"""An episode as conversations: its messages in order, and which of them are learnt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sandmle.agents.context import estimate_tokens
from sandmle.trajectory import Episode, Message

__all__ = ["ConversationRow", "conversations"]


@dataclass
class ConversationRow:
    """One conversation.

    Attributes:
        messages: in order; prompts and observations as they were before any was left out to fit a context.
        learnt: for each message, whether it is learnt from; only replies are.
    """

    messages: list[Message] = field(default_factory=list)
    learnt: list[bool] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """About how long it is: four characters a token."""
        return estimate_tokens(self.messages)


def conversations(episode: Episode, *, learn_failed_steps: bool = True) -> Iterator[ConversationRow]:
    """The conversations of an episode.

    Args:
        episode: played by anybody.
        learn_failed_steps: whether replies are learnt from whose code failed or that could not be parsed.
    """
    row = ConversationRow()
    for turn in episode.turns:
        if turn.anew and row.messages:
            yield row
            row = ConversationRow()
        row.messages += [*turn.messages, Message(role="assistant", content=turn.reply)]
        row.learnt += [*[False] * len(turn.messages), learn_failed_steps or not turn.failed]
    if row.messages:
        yield row
