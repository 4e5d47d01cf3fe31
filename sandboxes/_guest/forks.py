"""Serves forks: what a zygote does for new sandboxes, and the init of a forked one for its branches.

The host sends two kinds of message::

    FORK   with a descriptor, the far end of a channel: fork a sandbox that serves it
    KILL   with a process id: kill that sandbox, if it is still one

Nothing comes back: a sandbox speaks for itself over its channel.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORK", "KILL", "MESSAGE", "serve_forks"]

MESSAGE = struct.Struct("!cI")
"""The kind of a message and the process id, if it has one."""
FORK, KILL = b"F", b"K"


def serve_forks(control: socket.socket, fork: Callable[[int], None]) -> None:
    """Call ``fork`` with every channel that arrives, until the host hangs up."""
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE.size, 1)
        if len(message) < MESSAGE.size:
            return
        kind, pid = MESSAGE.unpack(message)
        if kind == KILL:
            _kill(pid)
        for channel in descriptors:
            fork(channel)
            os.close(channel)


def _kill(pid: int) -> None:
    """End a child that has not been reaped: until then its number can't be another's.

    By a signal that a guard (see ``alone``) can answer; the others die of it.
    """
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGTERM)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
