"""The turn format of the ReAct scaffold, read strictly.

    reply   := [think] prose action prose
    think   := <think> ... </think>
    action  := <tool_call> python <code> ... </code> </tool_call>
             | <tool_call> {"name": "Score", "arguments": {}} </tool_call>
             | <answer>submission</answer>

Decisions, where the format leaves room:

- The thinking block may be missing (endpoints that separate a model's reasoning deliver it in a field of its own), and
  so may its opening tag (some chat templates write it into the prompt). It is never searched for actions.
- Prose before and after the action is ignored, but a control tag in it is a fault: a model that writes a second action,
  or a tool's response itself, has not sent exactly one action.
- The code ends at the first ``</code>`` that closes the tool call too; other tags inside the code are code.
- A Markdown fence around the whole code is taken off.
- ``Score`` takes no arguments, ``answer`` nothing but the word ``submission``; letter case is free in both.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from sandmle.agents.observation import CONTROL_TAGS
from sandmle.trajectory import Action

__all__ = ["FormatFault", "after_thinking", "parse_reply"]


@dataclass(frozen=True)
class FormatFault:
    """Why a reply is not a turn; ``message`` tells the model what to write instead."""

    message: str


_TAG = re.compile(rf"</?(?:{'|'.join(CONTROL_TAGS)})>")
_OPENING = re.compile(r"<(?:tool_call|answer)>")
_THINK = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_PYTHON = re.compile(r"<tool_call>\s*python\s*<code>(.*?)</code>\s*</tool_call>", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?```", re.DOTALL)


def parse_reply(text: str) -> Action | FormatFault:
    """The one action in a model's reply, or what is wrong with the reply. Never raises."""
    body = _without_thinking(text)
    if isinstance(body, FormatFault):
        return body
    opening = _OPENING.search(body)
    if opening is None:
        return FormatFault("The reply holds no action: write exactly one tool call or answer.")
    if _TAG.search(body[: opening.start()]):
        return FormatFault("There is a stray tag before the action: write exactly one tool call or answer.")
    found = _action_at(body, opening.start())
    if isinstance(found, FormatFault):
        return found
    action, end = found
    stray = _TAG.search(body[end:])
    if stray:
        return FormatFault(f"Write exactly one action and stop: {_named(stray.group())} came after it.")
    return action


def after_thinking(text: str) -> str:
    """A reply without its thinking block, whose opening tag a chat template may have written; whole if there is none.

    For formats other than ReAct's; a reply that begins as an object or a block has none.
    """
    if text.lstrip().startswith(("{", "```")):
        return text
    _, closing, rest = text.partition("</think>")
    return rest if closing else text


def _named(tag: str) -> str:
    """A tag as words, so that the correction itself holds no stray tag."""
    return f"a {tag.strip('</>')} tag"


def _without_thinking(text: str) -> str | FormatFault:
    think = _THINK.match(text)
    if think:
        return text[think.end() :]
    if text.lstrip().startswith("<think>"):
        return FormatFault("The thinking block is not closed.")
    opening = _OPENING.search(text)
    before = text[: opening.start()] if opening else text
    head, closing, _ = before.partition("</think>")
    return text[len(head) + len(closing) :] if closing else text


def _action_at(body: str, start: int) -> tuple[Action, int] | FormatFault:
    answer = _ANSWER.match(body, start)
    if answer:
        if answer.group(1).strip().lower() != "submission":
            return FormatFault("The answer must be the one word submission; the file itself is submission.csv.")
        return Action(kind="answer"), answer.end()
    python = _PYTHON.match(body, start)
    if python:
        return _python(python.group(1), python.end())
    call = _CALL.match(body, start)
    if call:
        return _json_call(call.group(1).strip(), call.end())
    return FormatFault("The action is not closed.")


def _python(raw: str, end: int) -> tuple[Action, int] | FormatFault:
    fence = _FENCE.fullmatch(raw.strip())
    code = (fence.group(1) if fence else raw).strip("\r\n").rstrip()
    if not code.strip():
        return FormatFault("The code is empty.")
    if "\0" in code or not _encodable(code):
        return FormatFault("The code holds characters that a Python file can't.")
    return Action(kind="python", code=code + "\n"), end


def _encodable(code: str) -> bool:
    try:
        code.encode()
    except UnicodeEncodeError:
        return False
    return True


def _json_call(raw: str, end: int) -> tuple[Action, int] | FormatFault:
    expected = 'A tool call is python with a code block, or {"name": "Score", "arguments": {}}.'
    try:
        call = json.loads(raw)
    except (ValueError, RecursionError):
        return FormatFault(f"The tool call can't be read. {expected}")
    if not isinstance(call, dict) or str(call.get("name", "")).lower() != "score" or set(call) - {"name", "arguments"}:
        return FormatFault(f"There is no such tool. {expected}")
    if call.get("arguments", {}) != {}:
        return FormatFault("The tool Score takes no arguments.")
    return Action(kind="score"), end
