"""The state of a ReAct episode: all that a later turn depends on, as JSON-able values."""

from __future__ import annotations

from pydantic import BaseModel

from sandmle.agents.context import CHARS_PER_TOKEN, Conversation
from sandmle.grades import GradeReport
from sandmle.trajectory import EpisodeStatus, Message, TokenFields, Turn, Usage

__all__ = ["ReactState", "Reply"]


class Reply(BaseModel):
    """A model's reply that waits for ``act``, with what the call cost."""

    text: str
    usage: Usage = Usage()
    seconds: float = 0.0
    tokens: TokenFields | None = None


class ReactState(BaseModel):
    """One episode so far.

    Attributes:
        session_key: names the session that the graph opened itself; empty where the runner owns it.
        opening: system prompt and task.
        reply: the reply that ``act`` has yet to carry out.
        faults: format faults in a row, up to now.
        submission_turn: index of the turn whose code wrote the last submission.
        dropped_observations: how many of the oldest observations no longer fit the context.
        dropped_replies: indices of the turns whose reply no longer fits the context.
        chars_per_token: as measured on the last prompt that the endpoint counted.
        status: how the episode ended, None while it runs.
        grade: set at the end, only where the graph opened the session itself.
    """

    session_key: str = ""
    opening: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    reply: Reply | None = None
    faults: int = 0
    submission_turn: int | None = None
    dropped_observations: int = 0
    dropped_replies: tuple[int, ...] = ()
    chars_per_token: float = CHARS_PER_TOKEN
    status: EpisodeStatus | None = None
    reason: str = ""
    grade: GradeReport | None = None

    @property
    def conversation(self) -> Conversation:
        """The messages so far, less what was left out."""
        return Conversation(self.opening, self.turns, self.dropped_observations, frozenset(self.dropped_replies))

    @property
    def tool_calls(self) -> int:
        """Calls of the session's tools in the finished turns."""
        return sum(turn.action is not None and turn.action.kind != "answer" for turn in self.turns)
