"""Files and folders that are either whole or not there: write to a temporary name, sync, rename."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandmle.errors import BadInput, EnvironmentProblem

__all__ = [
    "PUBLIC_TIME",
    "SCRATCH",
    "bring_file",
    "clear_leftovers",
    "disk_errors",
    "folder_lock",
    "hash_tree",
    "publish_folder",
    "scratch_folder",
    "sha256_file",
    "write_bytes",
    "write_text",
]

PUBLIC_TIME = 1_704_067_200
"""Modification time of every file that an agent sees, in seconds: a clock must not tell of labels."""
SCRATCH = ".scratch-"
"""How the names of folders begin that are still being filled, beside their public place."""
_CHUNK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_PLACE = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn a full disk, or a place that can't be written, into the one line a person needs.

    Args:
        where: the folder or the file that is written.

    Raises:
        EnvironmentProblem: no space left, quota reached, or no permission at ``where``.
        BadInput: ``where`` can't be what it is to be: a file is where a folder must be, or the other way round.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _full(where) from error
        if error.errno in _FORBIDDEN and (_stands_for(error, where) or _lies_under(error, where)):
            raise EnvironmentProblem(f"{where}: can't write there ({error.strerror})") from error
        misplaced = error.errno in _NO_PLACE and _lies_under(error, where)
        if misplaced or (error.errno in (*_NO_PLACE, errno.ENOENT) and _stands_for(error, where)):
            raise BadInput(f"{where}: can't write there ({error.strerror}); choose another place") from error
        raise
    except sqlite3.OperationalError as error:
        if "full" not in str(error):
            raise
        raise _full(where) from error


def _full(where: Path) -> EnvironmentProblem:
    return EnvironmentProblem(f"{where}: the disk is full; free some space and run the same command again")


def _lies_under(error: OSError, folder: Path) -> bool:
    """Whether an error is about a file in ``folder``."""
    path = error.filename
    return isinstance(path, str | Path) and _real(path).is_relative_to(_real(folder))


def _stands_for(error: OSError, where: Path) -> bool:
    """Whether an error is about ``where``, a folder that it lies in, or the temporary name that it is written under."""
    path = error.filename
    if not isinstance(path, str | Path):
        return False
    found, wanted = _real(path), _real(where)
    temporary = found.name.startswith(f".{where.name}.") and found.parent == _real(where.parent)
    return temporary or wanted.is_relative_to(found)


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 so that ``path`` holds either its old content or all of the new one."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` holds either its old content or all of the new one, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def publish_folder(source: Path, target: Path) -> None:
    """Move a finished folder to its public name; a target left by an earlier run of the same work is replaced.

    Both must lie on one file system. ``target`` is never seen half-written, also after a power cut.
    """
    for path in (*source.rglob("*"), source):
        if not path.is_symlink():
            _sync(path)
    if target.exists():
        doomed = source.with_name(source.name + ".old")
        shutil.rmtree(doomed, ignore_errors=True)
        target.replace(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
    source.replace(target)
    _sync(target.parent)


@contextmanager
def scratch_folder(out: Path) -> Iterator[Path]:
    """A new folder in ``out``, made if need be, to fill one for ``publish_folder`` in; it goes at the end."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=SCRATCH) as name:
        yield Path(name)


def clear_leftovers(out: Path) -> None:
    """Remove the scratch folders that killed processes left in ``out``; the caller holds its ``folder_lock``."""
    for left in out.glob(f"{SCRATCH}*"):
        shutil.rmtree(left)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def bring_file(source: Path, target: Path) -> str:
    """Make the new file ``target`` from ``source``: a hard link where possible, else a copy. It is read once.

    Returns:
        Hex SHA-256 of its bytes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        digest = hashlib.sha256()
        with source.open("rb") as stream, target.open("wb") as copy:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
        return digest.hexdigest()
    return sha256_file(target)


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_tree(root: Path) -> dict[str, str]:
    """SHA-256 of every regular file under ``root``, keyed by its POSIX path relative to ``root``, sorted."""
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(root).as_posix(): sha256_file(path) for path in paths}


@contextmanager
def folder_lock(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold ``folder/.sandmle/lock`` so that two commands never write to one folder.

    Raises:
        BadInput: another process holds it, and ``wait`` is false.
    """
    path = folder / ".sandmle" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise BadInput(
                f"{folder}: another sandmle is writing there; wait for it or choose another folder"
            ) from error
        yield
