# ruff: noqa: TID251
"""The zygote: one process an image that has imported its libraries and is forked for every sandbox.

The host starts it with the environment that steps get and no secret in it, and has it fork (see ``forks``). The zygote
knows no sandbox's configuration, so no sandbox can inherit another's. It has one thread, since a process with several
can neither be forked safely nor enter a user namespace.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import NoReturn

from . import linux, main, warm
from .forks import Forks
from .script import Become, Program

__all__ = ["serve"]


def serve(control: int, host: int, image: str) -> Program:
    """Serve the host, process ``host``, at descriptor ``control`` until it hangs up.

    Returns:
        the program to run, in the processes of steps alone.
    """
    os.set_inheritable(control, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        linux.die_with_parent()
        if os.getppid() != host:
            os._exit(0)
    warm.load(image)
    try:
        _Sandboxes(socket.socket(fileno=control)).listen()
    except Become as become:
        return become.program
    os._exit(0)


class _Sandboxes(Forks):
    """Forks of the zygote itself."""

    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self._zygote = main.Parent(os.getpid(), os.geteuid(), os.getegid())

    def forked(self) -> None:
        """Nothing: a new sandbox needs its zygote no more."""

    def seal(self) -> None:
        """Nothing: a zygote forks as long as it lives."""

    def serve(self, channel: int, pid: int) -> NoReturn:
        """Serve a new sandbox."""
        os.closerange(3, channel)
        os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
        main.main(channel, pid, self._zygote)
