"""The TOML files that come with sandmle, by name, beside those that a user gives by path."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sandmle.errors import BadInput

__all__ = ["bundled_names", "read_named"]


def bundled_names(*folder: str) -> tuple[str, ...]:
    """The names of the bundled files in a folder of ``rl``, sorted."""
    found = files("sandmle.rl").joinpath(*folder).iterdir()
    return tuple(sorted(each.name.removesuffix(".toml") for each in found if each.name.endswith(".toml")))


def read_named(name: str, *folder: str, kind: str) -> str:
    """The text of the bundled file ``name``, or of the file at the path ``name``.

    Raises:
        BadInput: it is neither; lists the bundled ones, which are ``kind``.
    """
    names = bundled_names(*folder)
    if name in names:
        return files("sandmle.rl").joinpath(*folder, f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.is_file():
        raise BadInput(f"{name}: neither a file nor one of the bundled {kind}: {', '.join(names)}")
    return path.read_text(encoding="utf-8")
