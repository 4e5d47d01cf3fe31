"""The conversation of a scaffold as messages, kept within a token budget.

A conversation is its opening (system prompt and task) and its turns; each turn gives the model's reply and the response
to it. To fit the budget, in this order and only as far as needed:

1. the oldest observations are replaced by ``LEFT_OUT``;
2. then the oldest replies, except the one whose code wrote the last submission.

The opening and the most recent turn are never touched. What was left out once stays out, so that the prompts of an
episode share their beginnings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sandmle.trajectory import Message, Turn

__all__ = ["CHARS_PER_TOKEN", "LEFT_OUT", "Conversation", "estimate_tokens", "fit", "respond"]

CHARS_PER_TOKEN = 4.0
"""Characters of English and Python per token: the rule of thumb used until the endpoint has counted a prompt."""

LEFT_OUT = "[left out to fit the context]"

_TOKENS_PER_MESSAGE = 4


def respond(observation: str) -> Message:
    """The user message that carries an observation."""
    return Message(role="user", content=f"<tool_response>\n{observation}\n</tool_response>")


@dataclass(frozen=True)
class Conversation:
    """Messages for the model, and how to make them again.

    Attributes:
        opening: system prompt and task.
        turns: the finished turns.
        dropped_observations: how many of the oldest turns have lost their observation.
        dropped_replies: positions of the turns that have lost their reply.
        respond: the message that carries an observation.
    """

    opening: tuple[Message, ...]
    turns: tuple[Turn, ...]
    dropped_observations: int = 0
    dropped_replies: frozenset[int] = frozenset()
    respond: Callable[[str], Message] = respond

    @property
    def pruned(self) -> int:
        """Observations and replies left out."""
        return self.dropped_observations + len(self.dropped_replies)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model is sent."""
        messages = list(self.opening)
        for position, turn in enumerate(self.turns):
            reply = LEFT_OUT if position in self.dropped_replies else turn.reply
            observation = LEFT_OUT if position < self.dropped_observations else turn.observation
            messages += [Message(role="assistant", content=reply), self.respond(observation)]
        return tuple(messages)


def estimate_tokens(messages: Sequence[Message], chars_per_token: float = CHARS_PER_TOKEN) -> int:
    """Tokens of a prompt: characters over ``chars_per_token``, plus four a message for its role and borders."""
    characters = sum(len(message.content) for message in messages)
    return round(characters / chars_per_token) + _TOKENS_PER_MESSAGE * len(messages)


def fit(
    conversation: Conversation, budget: int, *, keep: int | None = None, chars_per_token: float = CHARS_PER_TOKEN
) -> Conversation | None:
    """``conversation`` with as little left out as fits ``budget`` tokens; None if even the least doesn't fit.

    Args:
        conversation: with what was left out before.
        budget: tokens.
        keep: position of the turn that wrote the last submission; its reply stays.
        chars_per_token: as measured for this model.
    """
    turns, dropped, replies = conversation.turns, conversation.dropped_observations, conversation.dropped_replies
    older = max(len(turns) - 1, 0)
    candidates = [
        replace(conversation, dropped_observations=count) for count in range(dropped, max(dropped, older) + 1)
    ]
    for position in range(older):
        if position != keep and position not in replies:
            replies |= {position}
            candidates.append(replace(candidates[-1], dropped_replies=replies))
    fitting = (each for each in candidates if estimate_tokens(each.messages, chars_per_token) <= budget)
    return next(fitting, None)
