# ruff: noqa: PTH208
"""Removes whatever code has left, without following any link."""

from __future__ import annotations

import contextlib
import os
import stat

__all__ = ["FOLDER", "is_folder", "remove", "remove_folder"]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
"""How a folder is opened, if it is one."""


def remove_folder(path: str) -> None:
    """Remove a folder and all in it, however deep, also what its owner has closed to himself; in our own process.

    Raises:
        OSError: something could not be removed.
    """
    parent, _, name = path.rpartition("/")
    top = os.open(parent, FOLDER)
    try:
        remove(top, name)
    finally:
        os.close(top)


def is_folder(top: int, name: str) -> bool:
    """Whether ``name`` in the folder ``top`` is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def remove(top: int, name: str) -> None:
    """Remove a file, link or folder; sub-folders are moved up first, so that no depth is too deep."""
    if not is_folder(top, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=top)
        return
    folder = _open_own(top, name)
    while names := os.listdir(folder):
        for child in names:
            if is_folder(folder, child):
                _dissolve(folder, child)
            else:
                os.unlink(child, dir_fd=folder)
    os.close(folder)
    os.rmdir(name, dir_fd=top)


def _dissolve(folder: int, child: str) -> None:
    """Remove the folder ``child`` of ``folder``, moving its own folders up into ``folder`` by names none can guess."""
    inner = _open_own(folder, child)
    for name in os.listdir(inner):
        if is_folder(inner, name):
            os.close(_open_own(inner, name))
            os.rename(name, f".moved-{os.urandom(8).hex()}", src_dir_fd=inner, dst_dir_fd=folder)
        else:
            os.unlink(name, dir_fd=inner)
    os.close(inner)
    os.rmdir(child, dir_fd=folder)


def _open_own(top: int, name: str) -> int:
    """Open a folder that its owner may have closed to himself."""
    with contextlib.suppress(PermissionError):
        os.chmod(name, 0o700, dir_fd=top)
    return os.open(name, FOLDER, dir_fd=top)
