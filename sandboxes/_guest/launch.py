# ruff: noqa: TID251
"""Starts a zygote from an interpreter that no code can change.

A step keeps the program of its zygote, and ``/proc/self/exe`` leads to it by the mount on which the zygote found it:
the host's, not the sandbox's read-only one. In a user namespace code has the user's id, and could so change the mode of
his own Python, or write to it on kernels (6.11, 6.12) that let running programs be written. So the zygote of anybody
but root is started where the program is a read-only mount of its own.
"""

from __future__ import annotations

import contextlib
import os
import sys

from . import linux
from .namespaces import enter_user_namespace

__all__ = ["LAUNCH", "launch"]

LAUNCH = "import sys; sys.path.insert(0, {folder!r}); from _guest.launch import launch; launch()"
"""What the interpreter is told; it then starts again as ``sys.executable -P``, reading its program from stdin."""


def launch() -> None:
    """Become a fresh interpreter whose program can't be changed, where this machine offers that; does not return."""
    with contextlib.suppress(OSError):
        _guard(os.path.realpath(sys.executable))
    os.execv(sys.executable, [sys.executable, "-P"])


def _guard(program: str) -> None:
    """Lay a read-only mount of the program over itself, in namespaces of our own; mounts made outside still come in."""
    enter_user_namespace(os.geteuid())
    linux.unshare(linux.CLONE_NEWNS)
    linux.bind(program, program)
    linux.set_mount_attributes(program, read_only=True)
