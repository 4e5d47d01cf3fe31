"""The public files that belong to single items, as a table: path, size, time of change, metadata and a digest."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path, PurePosixPath

import pandas as pd

from sandmle.eval.acceptance._chunks import read_metadata

__all__ = ["describe_files"]

COLUMNS = ("split", "row", "column", "path", "bytes", "mtime_ns", "metadata", "digest")
MAX_READ = 4 << 20
"""Bytes of a file in which metadata are looked for, and that its digest is of."""


def describe_files(public: Path, train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """One row per file that a cell of ``train`` or ``test`` names.

    Args:
        public: the folder of public files.
        train: the table of ``train.csv``.
        test: the table of ``test.csv``.

    Returns:
        Columns split ("train" or "test"), row (position in its table), column, path (relative, POSIX), bytes,
        mtime_ns, metadata (JSON of chunk name to contents, empty where the file carries none), and digest (hex).

    Raises:
        ValueError: a path leads out of the folder, or to something that is not a regular file.
    """
    tables = {"train": train, "test": test}
    rows = []
    for name in dict.fromkeys(name for table in tables.values() for name in table):
        columns = {split: table[name] for split, table in tables.items() if name in table}
        if not any(_names_files(public, cells) for cells in columns.values()):
            continue
        for split, cells in columns.items():
            for row, cell in enumerate(cells):
                if isinstance(cell, str) and cell:
                    rows.append((split, row, str(name), cell, *_look(public, cell)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _names_files(public: Path, cells: pd.Series) -> bool:
    first = next((cell for cell in cells if isinstance(cell, str) and cell), "")
    inside = "." in first and "\0" not in first and len(first) < 256 and _is_inside(first)
    return inside and os.path.lexists(public / first)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _look(public: Path, name: str) -> tuple[int, int, str, str]:
    """Size, modification time, metadata and digest of one file; no link on the way is followed."""
    if not _is_inside(name):
        raise ValueError(f"{name!r} leads out of the public folder")
    handle = os.open(public, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in PurePosixPath(name).parts:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
            deeper = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = deeper
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError(f"{name!r} is no regular file")
        data = os.read(handle, MAX_READ)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"{name!r} is no regular file that can be read: {error}") from error
    finally:
        os.close(handle)
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return facts.st_size, facts.st_mtime_ns, read_metadata(data), digest
