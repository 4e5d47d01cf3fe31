# ruff: noqa: PTH101, PTH103, PTH115, PTH118, PTH123, PTH211
"""Copies of inputs, for where an input can't be mounted as it is.

That is the case without namespaces, and for files that only their owner may read while code runs as another user.
"""

from __future__ import annotations

import os
import stat

__all__ = ["copy_readable", "readable_by_all"]

_CHUNK = 1 << 20


def readable_by_all(path: str) -> bool:
    """Whether every user may read ``path`` and all below it."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return True
    if not stat.S_ISDIR(mode):
        return bool(mode & stat.S_IROTH)
    if mode & 0o005 != 0o005:
        return False
    with os.scandir(path) as entries:
        return all(readable_by_all(entry.path) for entry in entries)


def copy_readable(source: str, target: str) -> None:
    """Copy a file or folder so that everyone may read it and nobody may write it; links stay links, odd files go."""
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(mode):
        _copy_file(source, target)
    elif stat.S_ISDIR(mode):
        os.makedirs(target, exist_ok=True)
        with os.scandir(source) as entries:
            for entry in entries:
                copy_readable(entry.path, os.path.join(target, entry.name))
        os.chmod(target, 0o555)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        while chunk := reader.read(_CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[writer.write(view) :]
        os.fchmod(writer.fileno(), 0o444)
