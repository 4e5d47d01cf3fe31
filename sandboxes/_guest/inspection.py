# ruff: noqa: PTH110, PTH115, PTH116, PTH123, PTH208, TID251
"""Judges a process that code has run in: what it shares with others, and which rights it still has.

A process that has given up its rights itself has done so in memory that code could change before. It is stopped while
it is judged, and nobody else is left who could hand it anything afterwards.
"""

from __future__ import annotations

import os
import signal
import stat

from .processes import alive

__all__ = ["fault_of", "is_at_home", "shared_by"]

_NONE = "0" * 16
_WANTED = {
    **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), _NONE),
    "NoNewPrivs": "1",
    "Seccomp": "2",
    "Threads": "1",
}
_NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


def shared_by(pid: int) -> str:
    """What process ``pid`` would share with its forks, such as folders that are not theirs; empty if nothing.

    It may have open: devices, and the one socket by which it is spoken to.

    Raises:
        OSError: it can't be told.
    """
    found, sockets = set(), 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        mode = os.stat(path).st_mode
        sockets += stat.S_ISSOCK(mode)
        if not stat.S_ISCHR(mode) and not (stat.S_ISSOCK(mode) and sockets == 1):
            found.add(os.readlink(path))
    if found:
        return f"files are still open: {', '.join(sorted(found)[:3])}"
    with open(f"/proc/{pid}/maps") as stream:
        regions = [line.split(maxsplit=5) for line in stream]
    shared = sorted({region[-1].strip() for region in regions if region[1][1] == "w" and region[1][3] == "s"})
    return f"memory is shared: {', '.join(shared[:3])}" if shared else ""


def fault_of(pid: int) -> str:
    """What right or hold on the outside process ``pid`` has kept, or company; empty if none. Called by pid 1."""
    try:
        _stop(pid)
        fault = _look_into(pid)
        company = [process.pid for process in alive(isolated=True) if process.pid != pid]
        os.kill(pid, signal.SIGCONT)
    except OSError as error:
        return f"itself from being looked into ({error.strerror})"
    return fault or ("company" if company else "")


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    while True:
        with open(f"/proc/{pid}/stat") as stream:
            if stream.read().rpartition(")")[2].split()[0] not in "RSD":
                return


def _look_into(pid: int) -> str:
    folder = f"/proc/{pid}"
    with open(f"{folder}/status") as stream:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    kept = [name for name, value in _WANTED.items() if status.get(name) != value]
    if shared := shared_by(pid):
        kept.append(shared)
    if os.readlink(f"{folder}/root") != "/" or not os.path.samefile(f"{folder}/root", "/"):  # noqa: PTH121
        kept.append("another root")
    if not _is_ours(f"{folder}/cwd"):
        kept.append("a working folder outside")
    return ", ".join(kept)


def _is_ours(folder: str) -> bool:
    """Whether a link of the kernel's leads to the folder that its path names in our own mount namespace."""
    path = os.readlink(folder)
    return path.startswith("/") and os.path.exists(path) and _mount_of(path) == _mount_of(folder)


def _mount_of(path: str) -> tuple[str, int]:
    descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        with open(f"/proc/self/fdinfo/{descriptor}") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        return fields["mnt_id"].strip(), os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def is_at_home(pid: int) -> bool:
    """Whether process ``pid`` is in all of our own namespaces, and lets itself be looked into."""
    try:
        return all(
            os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES
        )
    except OSError:
        return False
