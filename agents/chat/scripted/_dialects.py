"""The protocols of the scaffolds as a scripted policy speaks them: reading a conversation, and wording a move.

A dialect is told by what stands before the first reply; adding one is adding a class to ``DIALECTS``.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from sandmle.agents.chat.scripted._plan import PROFILE_MARK, read_profile

__all__ = ["DIALECTS", "Dialect", "Move", "Seen", "dialect_of", "stopped", "worked"]

_WRITTEN = re.compile(r"^submission\.csv: \d+ rows written$", re.MULTILINE)
_STOPPED = re.compile(r"^\[the step (?:failed|hit|printed too much|was stopped)", re.MULTILINE)


class Move(NamedTuple):
    """What a policy does next; ``look`` and ``run`` have code."""

    kind: Literal["look", "run", "score", "done"]
    thought: str
    code: str = ""


class Seen(NamedTuple):
    """What a conversation holds.

    Attributes:
        description: the task's brief.
        profile: of the public folder; None where nobody looked, or it could not be read.
        observation: the last one.
        asked: how often the policy looked.
        tries: how many scripts it has run since.
        scored: whether the last move asked for the score.
        done: whether the last move said that there is no more to do.
    """

    description: str
    profile: dict[str, Any] | None
    observation: str = ""
    asked: int = 0
    tries: int = 0
    scored: bool = False
    done: bool = False


def worked(observation: str, *, handed: bool) -> bool:
    """Whether a script ran well and submitted; one that was handed prints what it likes."""
    if stopped(observation) or "[submission: invalid" in observation:
        return False
    return handed or bool(_WRITTEN.search(observation))


def stopped(observation: str) -> bool:
    """Whether the sandbox says that a step did not end well, or the scaffold that it could not read the reply."""
    return observation.startswith("[format]") or bool(_STOPPED.search(observation))


class Dialect(ABC):
    """One protocol.

    Attributes:
        tells_at_once: whether an observation says if a submission is valid, without being asked.
    """

    tells_at_once: ClassVar[bool] = True

    @abstractmethod
    def spoken(self, opening: str) -> bool:
        """Whether a conversation that opens like this is held in the dialect."""

    @abstractmethod
    def read(self, messages: Sequence[BaseMessage]) -> Seen:
        """What the conversation holds."""

    @abstractmethod
    def say(self, move: Move) -> str:
        """A move in words."""

    def judgement(self, messages: Sequence[BaseMessage], *, handed: bool) -> str | None:
        """What to say where a judgement of a run is asked for; None where a move is."""
        return None


class ReActDialect(Dialect):
    """Tags in prose; the score is asked for, and the answer given."""

    tells_at_once = False
    score = '{"name": "Score", "arguments": {}}'

    def spoken(self, opening: str) -> bool:
        """By the tag of its answer."""
        return "<answer>submission</answer>" in opening

    def read(self, messages: Sequence[BaseMessage]) -> Seen:
        """Replies with code are scripts, but the one that looks."""
        said, heard = _sides(messages)
        return Seen(
            description=heard[0],
            profile=next((found for found in map(read_profile, heard) if found), None),
            observation=heard[-1] if said else "",
            asked=sum(PROFILE_MARK in reply for reply in said),
            tries=sum("<code>" in reply and PROFILE_MARK not in reply for reply in said),
            scored=bool(said) and self.score in said[-1],
        )

    def say(self, move: Move) -> str:
        """Thought and action."""
        if move.kind == "done":
            return f"<think>\n{move.thought}\n</think>\n<answer>submission</answer>"
        call = self.score if move.kind == "score" else f"python\n<code>\n{move.code.strip()}\n</code>"
        return f"<think>\n{move.thought}\n</think>\n<tool_call>\n{call}\n</tool_call>"


class MleAgentDialect(Dialect):
    """JSON objects; an episode has no end of its own, so a policy that is done asks for the history."""

    def spoken(self, opening: str) -> bool:
        """By the name of an action."""
        return '"action": "execute_code"' in opening

    def read(self, messages: Sequence[BaseMessage]) -> Seen:
        """What is executed is a script, what is validated a look."""
        said, heard = _sides(messages)
        actions = [_action(reply) for reply in said]
        return Seen(
            description=_between(heard[0], "\n## The competition\n", "\n## Files\n"),
            profile=next((found for found in map(read_profile, heard[1:]) if found), None),
            observation=heard[-1] if said else "",
            asked=actions.count("validate_code"),
            tries=actions.count("execute_code"),
            done="get_history" in actions,
        )

    def say(self, move: Move) -> str:
        """The action; thoughts have no place in it."""
        if move.kind in ("done", "score"):
            return json.dumps({"action": "get_history", "params": {}})
        name = "validate_code" if move.kind == "look" else "execute_code"
        return json.dumps({"action": name, "params": {"code": move.code}})


class AideDialect(Dialect):
    """Every prompt stands alone: one asks for a plan and a script, one for a judgement of a run.

    The preview holds the profile already. A policy with a solution that works has nothing to add to it: its further
    scripts do nothing, and cost nothing.
    """

    def spoken(self, opening: str) -> bool:
        """By what either prompt asks for."""
        return self._asks_for_script(opening) or '"is_bug"' in opening

    @staticmethod
    def _asks_for_script(opening: str) -> bool:
        return "one block fenced with ```python that holds a complete script" in opening

    def read(self, messages: Sequence[BaseMessage]) -> Seen:
        """Of a prompt that asks for a script, the number of the attempt tells how many there were."""
        text = str(messages[0].text)
        number = re.search(r"Attempt number (\d+)", text)
        return Seen(
            description=_between(text, "\n## The competition\n", "\n## The data\n"),
            profile=read_profile(text),
            observation=_between(text, "`text\n", "\n```"),
            asked=2,
            tries=int(number.group(1)) - 1 if number else 0,
            done="\n## Your solutions so far\n" in text or "\n## The solution to improve\n" in text,
        )

    def say(self, move: Move) -> str:
        """Plan and script."""
        code = move.code.strip() if move.kind == "run" else "print('nothing to add')"
        return f"{move.thought}\n\n```python\n{code}\n```"

    def judgement(self, messages: Sequence[BaseMessage], *, handed: bool) -> str | None:
        """By whether the script says that it wrote its rows; scripts of ours print no score that can be compared."""
        if self._asks_for_script(str(messages[0].text)):
            return None
        good = worked(self.read(messages).observation, handed=handed)
        summary = "It ran and wrote its rows." if good else "It wrote no submission."
        return json.dumps({"is_bug": not good, "summary": summary, "metric": 0.0 if good else None})


DIALECTS: tuple[Dialect, ...] = (ReActDialect(), MleAgentDialect(), AideDialect())


def dialect_of(messages: Sequence[BaseMessage]) -> Dialect:
    """The dialect of a conversation; that of ReAct where it can't be told."""
    opening = str(messages[0].text) if messages else ""
    return next((dialect for dialect in DIALECTS if dialect.spoken(opening)), DIALECTS[0])


def _sides(messages: Sequence[BaseMessage]) -> tuple[list[str], list[str]]:
    """What the policy said, and what it heard."""
    said = [str(message.text) for message in messages if message.type == "ai"]
    return said, [str(message.text) for message in messages if message.type == "human"]


def _action(reply: str) -> str:
    try:
        found = json.loads(reply)
    except ValueError:
        return ""
    return str(found.get("action", "")) if isinstance(found, dict) else ""


def _between(text: str, start: str, end: str) -> str:
    """The part of a text after the first ``start`` and before the last ``end``; the whole of it without ``start``."""
    _, found, rest = text.partition(start)
    return (rest.rpartition(end)[0] or rest) if found else text
