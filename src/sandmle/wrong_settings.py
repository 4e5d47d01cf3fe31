"""What is wrong in a file of settings, said to whoever wrote it: the setting, its nearest name, the value given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

__all__ = ["wrong_settings"]

_LONGEST = 60
_KEY = "[key]"


def wrong_settings(error: ValidationError, schema: type[BaseModel]) -> list[str]:
    """Every fault in one line, ``table.setting: what is wrong``, in the order in which pydantic found them.

    Where a setting may be of several types pydantic tells what is wrong with it as each; here they are one line.

    Args:
        error: what validating the file's content with ``schema`` raised.
        schema: of the whole file; tells which names there are.
    """
    groups: dict[object, list[_Fault]] = {}
    for number, found in enumerate(error.errors(include_url=False)):
        place = _Place.of(found["loc"], schema)
        fault = _Fault(place, found["type"], _message(found, place.tables), found["input"])
        groups.setdefault(place.setting if place.tried else number, []).append(fault)
    return [line for faults in groups.values() for line in _lines(faults)]


@dataclass
class _Place:
    """Where a fault is.

    Attributes:
        path: as the file's writer knows it, without pydantic's names of types.
        tables: that may hold its last name.
        tried: pydantic's name of the type, where a setting on the path may be of several.
        setting: the path of that setting.
    """

    path: tuple[str | int, ...] = ()
    tables: list[type[BaseModel]] = field(default_factory=list)
    tried: str | int | None = None
    setting: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, path: Sequence[str | int], schema: type[BaseModel]) -> _Place:
        place, here, choosing = cls(), [schema], False
        for name in path:
            if choosing:
                if place.tried is None:
                    place.tried, place.setting = name, place.path
                here = [each for each in here if getattr(each, "__name__", None) == name] or here
                choosing = False
            elif name != _KEY:
                place.path = (*place.path, name)
                place.tables = [each for each in here if _is_table(each)]
                options = [_options(inner) for each in here for inner in _inner(each, name)]
                here = [each for types in options for each in types]
                choosing = any(len(types) > 1 for types in options)
        return place


@dataclass(frozen=True)
class _Fault:
    place: _Place
    kind: str
    message: str
    given: object

    @property
    def inside(self) -> bool:
        """Whether the value's own type was right, and something in it is wrong."""
        return self.place.path != self.place.setting

    def line(self) -> str:
        where = ".".join(map(str, self.place.path))
        return f"{where}: {self.message}" if where else self.message


def _lines(faults: Sequence[_Fault]) -> Iterator[str]:
    """What is said of the faults of one setting."""
    by_type: dict[object, list[_Fault]] = {}
    for fault in faults:
        by_type.setdefault(fault.place.tried, []).append(fault)
    if inside := [each for each in by_type.values() if any(fault.inside for fault in each)]:
        yield from (fault.line() for fault in min(inside, key=len))
        return
    nearly = [fault for fault in faults if not fault.kind.endswith("_type")] or faults
    ending = f", not {_short(nearly[0].given)}"
    first = nearly[0].line()
    said = [fault.message.removesuffix(ending).removeprefix("should be ") for fault in nearly[1:]]
    yield " or ".join([first.removesuffix(ending), *said]) + (ending if first.endswith(ending) else "")


def _message(fault: Mapping[str, Any], tables: Sequence[type[BaseModel]]) -> str:
    given = fault["input"]
    match fault["type"]:
        case "extra_forbidden":
            return _unknown(str(fault["loc"][-1]), [name for table in tables for name in table.model_fields])
        case "missing":
            return "is missing"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"should be a table, not {_short(given)}"
        case "tuple_type" | "list_type":
            return f"should be a list, not {_short(given)}"
        case "value_error":
            return str(fault["msg"]).removeprefix("Value error, ")
    wanted = re.sub(r"^(Input|String) should", "should", str(fault["msg"]).partition(", unable to parse")[0])
    return f"{wanted}, not {_short(given)}"


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"there is no such setting; did you mean {near[0]!r}?"
    return f"there is no such setting; there are {', '.join(known)}" if known else "there is no such setting"


def _short(value: object) -> str:
    text = "a table" if isinstance(value, Mapping) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_table(type_: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(type_, type) and issubclass(type_, BaseModel)


def _options(annotation: object) -> list[Any]:
    """The types that a value may have, without None."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _options(parts[0])
    if origin in (Union, UnionType):
        return [each for part in parts for each in _options(part) if each is not NoneType]
    return [annotation]


def _inner(type_: object, name: str | int) -> list[object]:
    """What a value of a type may hold under a name."""
    if _is_table(type_):
        return [found.annotation for each, found in type_.model_fields.items() if each == name]
    origin, parts = get_origin(type_), get_args(type_)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [parts[1]]
    return [part for part in parts if part is not Ellipsis]
