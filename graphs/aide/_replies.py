"""Reading what the model says: a plan with a script, or a review."""

from __future__ import annotations

import json
import math
import re

from pydantic import Field, ValidationError

from sandmle.graphs.parsing import FormatFault
from sandmle.record import Record

__all__ = ["Review", "Solution", "read_review", "read_solution"]

_THINK = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)\n?```[ \t]*$", re.DOTALL | re.MULTILINE)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class Solution(Record):
    """A plan in words and the script that carries it out."""

    plan: str
    code: str


class Review(Record):
    """What the reviewer says of a run; ``lower_is_better`` is asked for as in the original, and not believed."""

    is_bug: bool
    summary: str = Field(max_length=4_000)
    metric: float | None
    lower_is_better: bool | None = None


def read_solution(text: str) -> Solution | FormatFault:
    """The plan and the one fenced script of a reply; several blocks are joined, as in the original. Never raises."""
    body = _THINK.sub("", text)
    blocks = [block.strip("\n") for block in _FENCE.findall(body)]
    code = "\n\n".join(block for block in blocks if block.strip())
    if not code:
        return FormatFault("The reply holds no script: write a plan, then one block fenced with ```python.")
    if "\0" in code or any("\ud800" <= letter <= "\udfff" for letter in code):
        return FormatFault("The script holds characters that a Python file can't.")
    try:
        compile(code, "solution.py", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return FormatFault(f"The script is no Python: {str(error)[:200]}")
    return Solution(plan=body.partition("```")[0].strip(), code=code + "\n")


def read_review(text: str) -> Review | FormatFault:
    """The review in a reply; words around the object are left out, a metric that is no finite number is none."""
    found = _OBJECT.search(_THINK.sub("", text))
    try:
        review = Review.model_validate(json.loads(found.group() if found else ""))
    except (ValueError, RecursionError, ValidationError) as error:
        return FormatFault(f"The review can't be read: {' '.join(str(error).split())[:200]}")
    if review.metric is not None and not math.isfinite(review.metric):
        return review.model_copy(update={"metric": None})
    return review
