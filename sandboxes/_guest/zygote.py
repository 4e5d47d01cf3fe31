# ruff: noqa: TID251
"""The zygote: one process an image that has imported its libraries and is forked for every sandbox.

The host starts it with the environment that steps get and no secret in it, and sends it two kinds of message::

    FORK   with a descriptor, the far end of a channel: fork a sandbox that serves it
    KILL   with a process id: kill that sandbox, if it is still one

Nothing comes back: a sandbox speaks for itself over its channel. The zygote knows no sandbox's configuration, so no
sandbox can inherit another's. It has one thread, since a process with several can neither be forked safely nor enter a
user namespace.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import sys
import traceback

from . import linux, main, warm
from .script import Become, Script

__all__ = ["FORK", "KILL", "MESSAGE", "serve"]

MESSAGE = struct.Struct("!cI")
"""The kind of a message and the process id, if it has one."""
FORK, KILL = b"F", b"K"


def serve(control: int, host: int, image: str) -> Script:
    """Serve the host, process ``host``, at descriptor ``control`` until it hangs up.

    Returns:
        the script to run, in the processes of steps alone.
    """
    os.set_inheritable(control, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        linux.die_with_parent()
        if os.getppid() != host:
            os._exit(0)
    warm.load(image)
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    try:
        _listen(socket.socket(fileno=control))
    except Become as become:
        return become.script
    os._exit(0)


def _listen(control: socket.socket) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE.size, 1)
        if len(message) < MESSAGE.size:
            return
        kind, pid = MESSAGE.unpack(message)
        if kind == KILL:
            _kill(pid)
        for channel in descriptors:
            _fork_sandbox(channel)
            os.close(channel)


def _kill(pid: int) -> None:
    """Kill a child that has not been reaped: until then its number can't be another's."""
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGKILL)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_sandbox(channel: int) -> None:
    zygote = os.getpid()
    if os.fork():
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.closerange(3, channel)
        os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
        main.main(channel, zygote)
    except Become:
        raise
    except BaseException:  # noqa: BLE001 - a sandbox must never go on as a second zygote
        traceback.print_exc()
    os._exit(1)
