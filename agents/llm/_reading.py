"""Reading replies: one JSON object, or files in fenced blocks. What can't be read is said in words for the model."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

__all__ = ["Unusable", "read_files", "read_json"]

T = TypeVar("T", bound=BaseModel)
FENCE = re.compile(r"^(`{3,})[\w+.-]*[ \t]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
TITLED = re.compile(
    r"^#{1,6}[ \t]+`?([\w./-]+)`?[ \t]*\n+(`{3,})[\w+.-]*[ \t]*\n(.*?)^\2[ \t]*$", re.DOTALL | re.MULTILINE
)
MAX_FAULTS = 8
MAX_FILE = 200_000


class Unusable(ValueError):
    """A reply can't be used; the message tells the model why."""


def read_json(text: str, record: type[T]) -> T:
    """The record in the last fenced block of a reply, or in the whole of it.

    Raises:
        Unusable: there is no JSON object, or it does not fit; lists the first faults.
    """
    blocks = [block for _, block in FENCE.findall(text)]
    try:
        value = _object(blocks[-1] if blocks else text)
        return record.model_validate(value)
    except ValidationError as error:
        faults = [f"- {_where(fault['loc'])}: {_plain(fault['msg'])}" for fault in error.errors(include_url=False)]
        more = [f"- and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
        raise Unusable("the JSON object does not fit:\n" + "\n".join(faults[:MAX_FAULTS] + more)) from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"the reply holds no JSON object in a fenced block: {error}") from error


def _object(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """The JSON value of a text, words before and after its braces left out."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("no braces in it")
    return json.loads(text[start : end + 1], parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _where(path: tuple[int | str, ...]) -> str:
    return ".".join(map(str, path)) or "the object"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ")


def read_files(text: str, wanted: Collection[str], *, all_of_them: bool = True) -> dict[str, str]:
    """The files of a reply by name: each a heading with the name, then one fenced block.

    Args:
        text: the reply.
        wanted: names that are asked for; others are refused.
        all_of_them: whether none may be missing; otherwise one is enough.

    Raises:
        Unusable: files are missing, unknown, too long, or hold no Python that can be parsed.
    """
    found = {name: body for name, _, body in TITLED.findall(text)}
    if unknown := sorted(found.keys() - set(wanted)):
        raise Unusable(f"{unknown[0]} was not asked for; write {', '.join(wanted)}")
    missing = [name for name in wanted if name not in found]
    if missing and (all_of_them or not found):
        heading = f"write a heading `### {missing[0]}` and, below it, one fenced block with the whole file"
        raise Unusable(f"no file {missing[0]}: {heading}")
    for name, body in found.items():
        if len(body) > MAX_FILE:
            raise Unusable(f"{name} has {len(body)} characters; at most {MAX_FILE} are allowed")
        if name.endswith(".py"):
            _parse(name, body)
    return found


def _parse(name: str, body: str) -> None:
    try:
        ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unusable(f"{name} is no Python: {error}") from error
