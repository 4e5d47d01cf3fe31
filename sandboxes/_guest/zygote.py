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
import traceback

from . import linux, main, warm
from .forks import serve_forks
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
        serve_forks(socket.socket(fileno=control), _fork_sandbox)
    except Become as become:
        return become.program
    os._exit(0)


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
