"""Tells what has happened when Ray ends our process, which it does without a word when the cluster's head is lost.

Ray then leaves by ``_exit``, past every handler of Python. So a small process of its own waits for our end, and speaks
up unless it has been told that all is well.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from functools import cache

__all__ = ["watch"]

_MESSAGE = (
    "error: this program was ended by Ray, as it is when the head of its cluster is lost, or from outside; what it had"
    " finished is kept: the same command goes on from there"
)
_PROGRAM = "import sys; sys.stdin.buffer.read() or print(sys.argv[1], file=sys.stderr)"


@cache
def watch() -> None:
    """Have the end of this process watched."""
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, _MESSAGE],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(_part, os.getpid(), watcher)


def _part(owner: int, watcher: subprocess.Popen[bytes]) -> None:
    if os.getpid() == owner:
        watcher.communicate(b"all is well")
