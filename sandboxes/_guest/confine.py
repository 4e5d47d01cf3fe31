# ruff: noqa: PTH123, TID251
"""Gives up every right: what a child of the init does to itself before untrusted code or file names act in it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

from . import alone, linux, seccomp
from .processes import threads_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["confine", "limit"]

_MIB = 1 << 20
_OPEN_FILES = 4096
_ROOM = 32 * _MIB
_NO_CORE = 1
"""Not 0, with which the kernel would still pipe cores to the machine's crash handler: see core(5) and do_coredump."""


def confine(config: dict[str, Any], *, forkable: bool = False, ours: bool = False) -> None:
    """Take the sandbox's user id, no capabilities, no way back; without any isolation only the session is new.

    One that is ``forkable`` may still enter namespaces of its own user's, of which there are only those of its forks.
    One that runs code of ``ours`` alone may change modes of files where the code inside may not.
    """
    os.umask(0o022)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _set(resource.RLIMIT_CORE, _NO_CORE)
    if config["tier"] == "D":
        if sys.platform == "linux":
            linux.die_with_parent()
        return
    if config["switch_user"]:
        _be_killed_first()  # while still root, who alone can see to it that nobody goes back
        linux.drop_bounding_set()
        os.setgroups([])
        os.setresgid(config["uid"], config["uid"], config["uid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
    linux.drop_capabilities()
    linux.set_dumpable(True)
    linux.forbid_new_privileges()
    _be_killed_first()
    if config["tier"] == "C":
        linux.die_with_parent()
        _limit_processes(config)
        alone.shut_in(config, ours=ours)
    linux.set_filter(seccomp.filter_program(forkable=forkable))


def limit(config: dict[str, Any], cpu_seconds: int | None) -> None:
    """Set the resource limits of one process of a step and of all that it starts.

    Memory is limited by the size of the address space. What is mapped there but not in use when the step starts, such
    as the libraries' code, does not count; what is in use counts as if the script had imported it. Where a control
    group bounds the real use, or a GPU is there, whose driver reserves huge ranges, only what can be written counts.
    """
    limits = config["limits"]
    memory, file_size = limits["memory_mib"] * _MIB, limits["file_mib"] * _MIB
    size, used, writable = _address_space()
    room = max(memory - used, _ROOM)
    if config["group"]["events"] is not None or config["gpu"]:
        _set(resource.RLIMIT_DATA, writable + room)
    else:
        _set(resource.RLIMIT_AS, size + room)
    _set(resource.RLIMIT_FSIZE, file_size)
    _set(resource.RLIMIT_NOFILE, _OPEN_FILES)
    if cpu_seconds is not None:
        _set(resource.RLIMIT_CPU, cpu_seconds)
    if config["tier"] in "AB":
        _set(resource.RLIMIT_NPROC, limits["processes"])


def _limit_processes(config: dict[str, Any]) -> None:
    """Without namespaces the kernel counts all threads of the user, so those that there are now are allowed on top."""
    _set(resource.RLIMIT_NPROC, config["limits"]["processes"] + threads_of(os.geteuid()))


def _be_killed_first() -> None:
    """Let the kernel prefer this process and its children when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")


def _address_space() -> tuple[int, int, int]:
    """Bytes of this process's address space, and of its parts in memory and to write; 0 if the system won't tell."""
    try:
        with open("/proc/self/statm") as stream:
            fields = [int(field) * resource.getpagesize() for field in stream.read().split()]
    except OSError:
        return 0, 0, 0
    return fields[0], fields[1], fields[5]


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError):  # macOS refuses some of them
        resource.setrlimit(kind, (value, value))
