# ruff: noqa: PTH123, TID251
"""Gives up every right: what a child of the init does to itself before untrusted code or file names act in it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

from . import linux, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["confine", "limit"]

_MIB = 1 << 20
_OPEN_FILES = 4096
_ROOM = 32 * _MIB


def confine(config: dict[str, Any]) -> None:
    """Take the sandbox's user id, no capabilities, no way back; without namespaces only the session is new."""
    os.umask(0o022)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if config["tier"] == "D":
        if sys.platform == "linux":
            linux.die_with_parent()
        return
    if config["tier"] == "A":
        linux.drop_bounding_set()
        os.setgroups([])
        os.setresgid(config["uid"], config["uid"], config["uid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
    linux.drop_capabilities()
    linux.set_dumpable(True)
    linux.forbid_new_privileges()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")
    linux.set_filter(seccomp.filter_program())


def limit(config: dict[str, Any], cpu_seconds: int) -> None:
    """Set the resource limits of one step.

    Memory is limited by the size of the address space. What is mapped there but not in use when the step starts, such
    as the libraries' code, does not count; what is in use counts as if the script had imported it. The number of
    processes is limited only with namespaces: elsewhere the kernel counts all of the user's.
    """
    limits = config["limits"]
    memory, file_size = limits["memory_mib"] * _MIB, limits["file_mib"] * _MIB
    size, used = _address_space()
    _set(resource.RLIMIT_AS, size + max(memory - used, _ROOM))
    _set(resource.RLIMIT_FSIZE, file_size)
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _set(resource.RLIMIT_CPU, cpu_seconds)
    if config["tier"] != "D":
        _set(resource.RLIMIT_NPROC, limits["processes"])


def _address_space() -> tuple[int, int]:
    """Bytes of this process's address space and of its part in memory; 0 and 0 if the system does not tell."""
    try:
        with open("/proc/self/statm") as stream:
            size, used = stream.read().split()[:2]
    except OSError:
        return 0, 0
    return int(size) * resource.getpagesize(), int(used) * resource.getpagesize()


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError):  # macOS refuses some of them
        resource.setrlimit(kind, (value, value))
