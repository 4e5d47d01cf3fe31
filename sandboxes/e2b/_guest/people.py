# ruff: noqa: PTH123, PTH208, TID251, TID252
"""Code's user: its number is nobody else's in the machine, so that all processes of it are code's."""

from __future__ import annotations

import contextlib
import os
import resource
import signal

from ..._guest import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UID", "become", "kill_all", "limit", "processes"]

UID = 64321
_MIB = 1 << 20
_OPEN_FILES = 4096


def limit(config: dict[str, Any], cpu_seconds: int | None = None) -> None:
    """Set the limits of a step on this process.

    Args:
        config: what ``setup`` was given.
        cpu_seconds: CPU time after which the kernel ends the process; None for no limit.
    """
    limits = config["limits"]
    wanted = {
        resource.RLIMIT_AS: limits["memory_mib"] * _MIB,
        resource.RLIMIT_FSIZE: limits["file_mib"] * _MIB,
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: cpu_seconds,
    }
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        if value is not None:
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")


def become() -> None:
    """Turn this process, which is root's, into one of code's, for good."""
    os.umask(0o022)
    linux.drop_bounding_set()
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    linux.drop_capabilities()
    linux.forbid_new_privileges()


def processes() -> list[int]:
    """Process ids of code that have not ended."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _runs_for_code(name)]


def kill_all(*, but: int = 0) -> None:
    """Kill every process of code except ``but``, and return when none of them is left."""
    while left := [pid for pid in processes() if pid != but]:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped can't outrun the killing by forking
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def _runs_for_code(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/status", "rb") as stream:
            fields = dict(line.split(b":\t", 1) for line in stream.read().splitlines() if b":\t" in line)
    except OSError:
        return False
    return int(fields[b"Uid"].split()[0]) == UID and fields[b"State"][:1] not in b"ZX"
