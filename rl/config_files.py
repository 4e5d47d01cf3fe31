"""The three kinds of TOML files that ``sandmle train`` takes, by path or by the name of one that comes with sandmle."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from sandmle.errors import BadInput
from sandmle.wrong_settings import wrong_settings

__all__ = ["Kind", "bundled_names", "kind_of", "load_settings"]

Kind = Literal["config", "experiment", "recipe"]
S = TypeVar("S", bound=BaseModel)

_FOLDERS: dict[Kind, tuple[str, ...]] = {
    "config": ("configs",),
    "experiment": ("experiments", "bundled"),
    "recipe": ("configs", "rllm"),
}
_CALLED: dict[Kind, str] = {
    "config": "a config of our trainer",
    "experiment": "an experiment, which has [[arms]]",
    "recipe": 'a recipe for rLLM, which says trainer = "rllm"',
}


def bundled_names(kind: Kind) -> tuple[str, ...]:
    """The names of the bundled files of one kind, sorted."""
    found = files("sandmle.rl").joinpath(*_FOLDERS[kind]).iterdir()
    return tuple(sorted(each.name.removesuffix(".toml") for each in found if each.name.endswith(".toml")))


def kind_of(name: str) -> Kind:
    """The kind of the bundled file ``name``, or of the file at the path ``name``.

    Raises:
        BadInput: it is neither, or no TOML.
    """
    return _read(name)[0]


def load_settings(schema: type[S], name: str, kind: Kind, changes: Mapping[str, object] | None = None) -> S:
    """Read a file of ``kind`` by name or path; ``changes`` replace fields of it and of its tables, however deep.

    Raises:
        BadInput: there is none, it is of another kind, or no TOML, or values can't be used; names each, one a line.
    """
    found, plain = _read(name)
    if found != kind:
        raise BadInput(f"{name}: this is {_CALLED[found]}, not {_CALLED[kind]}")
    try:
        return schema.model_validate(_changed(plain, changes or {}))
    except ValidationError as error:
        raise BadInput("\n".join(f"{name}: {line}" for line in wrong_settings(error, schema))) from error


def _read(name: str) -> tuple[Kind, dict[str, Any]]:
    for kind, folder in _FOLDERS.items():
        if name in bundled_names(kind):
            return kind, tomllib.loads(files("sandmle.rl").joinpath(*folder, f"{name}.toml").read_text("utf-8"))
    path = Path(name)
    if not path.is_file():
        known = ", ".join(each for kind in _FOLDERS for each in bundled_names(kind))
        raise BadInput(f"{name}: neither a file nor one that comes with sandmle ({known})")
    try:
        plain = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        raise BadInput(f"{name}: no TOML ({error})") from error
    return "experiment" if "arms" in plain else "recipe" if plain.get("trainer") == "rllm" else "config", plain


def _changed(plain: dict[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    out = dict(plain)
    for name, value in changes.items():
        if not isinstance(value, Mapping):
            out[name] = value
        elif isinstance(table := out.setdefault(name, {}), dict):  # else the schema tells that it is no table
            out[name] = _changed(table, value)
    return out
