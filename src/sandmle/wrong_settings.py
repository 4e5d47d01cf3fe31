"""What is wrong in a file of settings, said to whoever wrote it: the setting, its nearest name, the value given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

__all__ = ["wrong_settings"]

_LONGEST = 60


def wrong_settings(error: ValidationError, schema: type[BaseModel]) -> list[str]:
    """Every fault in one line, ``table.setting: what is wrong``, in the order in which pydantic found them.

    Args:
        error: what validating the file's content with ``schema`` raised.
        schema: of the whole file; tells which names there are.
    """
    return [_line(fault, schema) for fault in error.errors(include_url=False)]


def _line(fault: Mapping[str, Any], schema: type[BaseModel]) -> str:
    path: tuple[str | int, ...] = fault["loc"]
    where = ".".join(map(str, path))
    message = _message(fault, _tables(schema, path[:-1]))
    return f"{where}: {message}" if where else message


def _message(fault: Mapping[str, Any], tables: Sequence[type[BaseModel]]) -> str:
    given = fault["input"]
    match fault["type"]:
        case "extra_forbidden":
            return _unknown(str(fault["loc"][-1]), [name for table in tables for name in table.model_fields])
        case "missing":
            return "is missing"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"should be a table, not {_short(given)}"
        case "value_error":
            return str(fault["msg"]).removeprefix("Value error, ")
    wanted = str(fault["msg"]).partition(", unable to parse")[0].replace("Input should", "should", 1)
    return f"{wanted}, not {_short(given)}"


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"there is no such setting; did you mean {near[0]!r}?"
    return f"there is no such setting; there are {', '.join(known)}" if known else "there is no such setting"


def _short(value: object) -> str:
    text = "a table" if isinstance(value, Mapping) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _tables(schema: type[BaseModel], path: Sequence[str | int]) -> list[type[BaseModel]]:
    """The tables that may stand at ``path``."""
    here: list[type[BaseModel]] = [schema]
    for name in path:
        found = [table.model_fields[str(name)].annotation for table in here if name in table.model_fields]
        here = [each for annotation in found for each in _models(annotation)] or here
    return here


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models that a type names, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
