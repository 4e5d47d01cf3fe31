"""What the places on one machine share without talking to one another: its cores and its temporary folder.

A claim is a lock on a file, which the kernel gives up with the process. So nothing is left claimed by a place that was
killed, and folders that it left behind are removed by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from sandmle.sandboxes._guest.removal import remove_folder

__all__ = ["ClaimedFolder", "claim_cores"]

_FOLDER = "sandmle-place-"


def claim_cores(count: int) -> list[int] | None:
    """Claim ``count`` cores of this machine until this process ends; None where not so many are left."""
    claimed: dict[int, int] = {}
    with contextlib.suppress(OSError):
        locks = Path(tempfile.gettempdir(), f"sandmle-cores-{os.geteuid()}")
        locks.mkdir(mode=0o700, exist_ok=True)
        for core in sorted(os.sched_getaffinity(0)):
            if len(claimed) < count and (lock := _lock(locks / str(core), os.O_CREAT | os.O_RDWR)) is not None:
                claimed[core] = lock
    if len(claimed) == count:
        return list(claimed)
    for lock in claimed.values():
        os.close(lock)
    return None


class ClaimedFolder:
    """A private folder on this machine that lasts no longer than this process."""

    def __init__(self) -> None:
        """Make it, and remove those whose process was killed."""
        _remove_leftovers()
        self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix=_FOLDER)))
        self._lock = _lock(self.path, os.O_RDONLY)

    def remove(self) -> None:
        """Remove it, with all in it."""
        with contextlib.suppress(OSError):
            remove_folder(str(self.path))
        if self._lock is not None:
            os.close(self._lock)


def _remove_leftovers() -> None:
    for folder in Path(os.path.realpath(tempfile.gettempdir())).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):
            handle = _lock(folder, os.O_RDONLY) if folder.lstat().st_uid == os.geteuid() else None
            if handle is not None:
                remove_folder(str(folder))
                os.close(handle)


def _lock(path: Path, flags: int) -> int | None:
    """Lock a file or folder of ours until what is returned is closed; None if another has locked it."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
