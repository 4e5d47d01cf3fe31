"""Files of a sandbox, from outside: their paths, and what ``_guest.files`` answers about them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

__all__ = ["path_inside", "raise_fault"]


def path_inside(path: str) -> str:
    """The path in its plain form, relative to the workspace.

    Raises:
        ValueError: it is empty, absolute, or has a ``..``.
    """
    plain = PurePosixPath(path)
    if not plain.parts or plain.is_absolute() or ".." in plain.parts or "\0" in path:
        raise ValueError(f"{path!r}: not a path inside the workspace")
    return plain.as_posix()


def raise_fault(answer: dict[str, Any]) -> None:
    """Raise the exception that an answer about files tells of, if it does.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the path may not be used so.
        OSError: the workspace refuses.
    """
    kind = answer.get("error")
    if kind == "missing":
        raise FileNotFoundError(answer["message"])
    if kind == "refused":
        raise ValueError(answer["message"])
    if kind == "system":
        raise OSError(answer["errno"], answer["message"])
