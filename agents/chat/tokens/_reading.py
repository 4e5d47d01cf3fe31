r"""What of a message a policy is shown. A declared setting of a policy, kept with its weights.

    whole    every message as it is
    digest   for a policy too small to read a brief of a thousand words in the time there is. Of the brief: how
             submissions are scored, what a prediction holds, the kinds of the columns in their order, and whether cells
             are empty. Of an observation: its last two lines, each cut to 48 characters. Of the instructions, which are
             the same in every episode: nothing

A digest adds nothing: each of its lines is the brief's own, or a list of what stands in its table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from sandmle.trajectory import Message

__all__ = ["READINGS", "Read", "Reading"]

Reading = Literal["whole", "digest"]
Read = Callable[[Message], str | None]
"""The text of a message that is shown; None leaves the message out."""

_KEPT = ("Submissions are scored by ", "Some cells are empty")
_HELD = re.compile(r"\bholds? (?:the|one|a|up|any|run|labels)\b.*")
_COLUMN = re.compile(r"\| `[^`]+`[^|]*\| (?P<kind>[a-z]+)[^|]*\|")
_LINES, _WIDTH = 2, 48


def _whole(message: Message) -> str | None:
    return message.content


def _digest(message: Message) -> str | None:
    if message.role == "system":
        return None
    if message.role == "user":
        return _observed(message.content) if message.content.startswith("<tool_response>") else _brief(message.content)
    return message.content


def _brief(text: str) -> str:
    lines = text.splitlines()
    told = [line for line in lines if line.startswith(_KEPT)]
    held = [
        match.group() for line in lines if line.startswith(("`", "The columns `")) and (match := _HELD.search(line))
    ]
    kinds = [match["kind"] for line in lines if (match := _COLUMN.match(line))]
    return "\n".join([*told, *held, " ".join(kinds)])


def _observed(text: str) -> str:
    lines = text.removeprefix("<tool_response>").removesuffix("</tool_response>").strip().splitlines()
    return "\n".join(line[:_WIDTH] for line in lines[-_LINES:])


READINGS: Mapping[Reading, Read] = MappingProxyType({"whole": _whole, "digest": _digest})
