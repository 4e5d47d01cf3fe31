# ruff: noqa: PTH115, PTH123, PTH208, TID251
"""Judges a process that has given up its rights itself, in memory that code could change before.

Such a process is stopped while it is judged, and nobody else is left who could hand it anything afterwards.
"""

from __future__ import annotations

import os
import signal

from .processes import alive

__all__ = ["fault_of", "is_at_home"]

_NONE = "0" * 16
_WANTED = {
    **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), _NONE),
    "NoNewPrivs": "1",
    "Seccomp": "2",
    "Threads": "1",
}
_NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
_OUTSIDE = "(unreachable)"


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
    held = [os.readlink(f"{folder}/fd/{name}") for name in os.listdir(f"{folder}/fd")]
    held.append(os.readlink(f"{folder}/cwd"))
    kept += [path for path in held if path.startswith(_OUTSIDE)]
    if os.readlink(f"{folder}/root") != "/" or not os.path.samefile(f"{folder}/root", "/"):  # noqa: PTH121
        kept.append("another root")
    return ", ".join(kept)


def is_at_home(pid: int) -> bool:
    """Whether process ``pid`` is in all of our own namespaces, and lets itself be looked into."""
    try:
        return all(
            os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES
        )
    except OSError:
        return False
