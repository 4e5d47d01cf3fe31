# ruff: noqa: PTH123, TID251
"""Enters the namespaces that shut a sandbox in."""

from __future__ import annotations

import os

from . import linux

__all__ = ["OTHERS", "become_first", "enter_user_namespace"]

OTHERS = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
"""All namespaces but those of users and processes."""


def enter_user_namespace(uid: int, *, proc: str = "/proc") -> None:
    """Enter a new user namespace, in which our user and group are known as ``uid``, and nobody else is.

    Args:
        uid: a user id.
        proc: where the process tree is mounted.

    Raises:
        OSError: this machine does not let us.
    """
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    linux.set_dumpable(True)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {user} 1"), ("gid_map", f"{uid} {group} 1")):
        with open(f"{proc}/self/{name}", "w") as stream:
            stream.write(text)
    linux.set_dumpable(False)


def become_first() -> None:
    """Go on as the first process of a new pid namespace; the one that called only waits for it, and ends as it does."""
    linux.unshare(linux.CLONE_NEWPID)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    linux.die_with_parent()
