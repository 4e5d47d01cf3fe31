"""Runs a command and ends everything that it started. A program of its own, run by its path.

    starter ──pipe──▶ keeper ──▶ command ──▶ whatever that starts

The end of the pipe, which is the keeper's standard input, is the order to stop. It comes by itself when the starter
dies, however it dies. The keeper adopts orphans, so nothing below it escapes; it ends with the command's exit code, or
128 and the number of the signal that killed it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

_GRACE_S = 10.0
"""What the command has to end by itself after SIGTERM."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(command: list[str]) -> int:
    """Run ``command`` until it ends, the pipe ends or SIGTERM comes; its exit code."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _leave)
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),  # if we are killed ourselves
        )
        _wait(child.pid)
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)
    finally:
        _kill_the_rest()
    code = child.wait()
    return code if code >= 0 else 128 - code


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def _wait(pid: int) -> None:
    """Until the process ends, or whoever holds the other end of our standard input."""
    ending = select.poll()
    for descriptor in (0, os.pidfd_open(pid)):
        ending.register(descriptor, select.POLLIN)
    ending.poll()


def _kill_the_rest() -> None:
    """Kill our children until there are none: the children of a killed one become ours."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in _children():
                os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                yield int(place.name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
