"""Reading what the model says: a plan with a script, or a review."""

from __future__ import annotations

import json
import math
import re
import warnings
from typing import Any

from sandmle.agents.observation import escape_control, plain_text
from sandmle.graphs.parsing import FormatFault, after_thinking
from sandmle.record import Record

__all__ = ["Review", "Solution", "read_review", "read_solution"]

MAX_WORDS = 4_000
"""Characters of a plan or a summary that are kept."""
_FENCE = re.compile(r"^```(?:python\d*|py)?[ \t]*\n(.*?)\n?```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


class Solution(Record):
    """A plan in words and the script that carries it out."""

    plan: str
    code: str


class Review(Record):
    """What the reviewer says of a run; the direction of the score is asked for as in the original, and not believed."""

    is_bug: bool
    summary: str
    metric: float | None


def read_solution(text: str) -> Solution | FormatFault:
    """The plan and the script of a reply; blocks that are Python are joined, others are left out. Never raises."""
    body = after_thinking(text)
    blocks = [block.strip("\n") for block in _FENCE.findall(body) if block.strip()]
    if not blocks:
        return FormatFault("The reply holds no script: write a plan, then one block fenced with ```python.")
    faults = {block: _python_fault(block) for block in blocks}
    code = "\n\n".join(block for block in blocks if not faults[block])
    if not code:
        return FormatFault(f"The script is no Python: {faults[blocks[0]]}")
    return Solution(plan=_words(body.partition("```")[0].strip()), code=code + "\n")


def _python_fault(code: str) -> str:
    """Why a text is no Python; empty if it is some."""
    try:
        code.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)[:200] or type(error).__name__
    return ""


def read_review(text: str) -> Review | FormatFault:
    """The review in a reply: its first object with the keys of one. A metric that is no finite number is none."""
    body = after_thinking(text)
    for start in (found.start() for found in re.finditer(r"\{", body)):
        found = _object_at(body, start)
        if isinstance(found.get("is_bug"), bool) and "metric" in found:
            metric = found["metric"]
            number = isinstance(metric, (int, float)) and not isinstance(metric, bool)
            return Review(
                is_bug=found["is_bug"],
                summary=_words(str(found.get("summary", ""))),
                metric=_finite(metric) if number else None,
            )
    return FormatFault('The reply holds no object with "is_bug", "summary" and "metric".')


def _object_at(text: str, start: int) -> dict[str, Any]:
    try:
        found = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _finite(value: float) -> float | None:
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _words(text: str) -> str:
    """Words of the model that later prompts repeat: plain, bounded, without tokens of chat templates."""
    return escape_control(plain_text(text[:MAX_WORDS]))
