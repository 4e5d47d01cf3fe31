"""The sandbox's control group, from inside: the host makes it and hands descriptors over, steps join, the init counts.

The init itself stays outside: whatever the kernel kills for want of memory is the code's.
"""

from __future__ import annotations

import os
import signal
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["join", "out_of_memory_kills", "receive", "wanted_memory"]

_MOST_DESCRIPTORS = 4


def receive(control: int) -> dict[str, Any]:
    """The descriptors that the host sends ahead of the configuration, with a byte that tells how many are to join by.

    Returns:
        ``join``, to which a process writes in order to join; ``events``, the group's count of kills, or None.

    Raises:
        EOFError: the host is gone.
    """
    with socket.socket(fileno=os.dup(control)) as channel:
        count, descriptors, _, _ = socket.recv_fds(channel, 1, _MOST_DESCRIPTORS)
    if not count:
        raise EOFError("the other side closed the connection")
    join, events = descriptors[: count[0]], descriptors[count[0] :]
    return {"join": join, "events": events[0] if events else None}


def join(group: dict[str, Any]) -> None:
    """Put this process, and what it will fork, into the group. Moves no memory that it already has."""
    for descriptor in group["join"]:
        os.write(descriptor, b"0")


def out_of_memory_kills(group: dict[str, Any]) -> int:
    """How often the kernel has killed for want of memory.

    In the sandbox's own group; where it has none, on the whole machine (0 if the system does not tell).
    """
    try:
        if group["events"] is not None:
            return _count(os.pread(group["events"], 4096, 0))
        with open("/proc/vmstat", "rb") as stream:  # noqa: PTH123
            return _count(stream.read())
    except OSError:
        return 0


def wanted_memory(group: dict[str, Any], kills: int, code: int) -> bool:
    """Whether a step that ended with ``code`` (see ``waitstatus_to_exitcode``) was ended by want of memory.

    ``kills`` is how many there were before. In the sandbox's own group one kill is enough, for it may have hit a worker
    that the main process then missed. The count of the whole machine proves nothing about a step that was not killed.
    """
    return code != 0 and (group["events"] is not None or -code == signal.SIGKILL) and out_of_memory_kills(group) > kills


def _count(table: bytes) -> int:
    return next((int(line.split()[1]) for line in table.splitlines() if line.startswith(b"oom_kill ")), 0)
