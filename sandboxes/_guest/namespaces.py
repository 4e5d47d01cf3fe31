# ruff: noqa: PTH123, TID251
"""Enters the namespaces that shut a sandbox in."""

from __future__ import annotations

import os

from . import linux

__all__ = ["OTHERS", "be_known_as", "enter_user_namespace"]

OTHERS = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
"""All namespaces but those of users and processes."""


def enter_user_namespace(uid: int) -> None:
    """Enter a new user namespace, in which our user and group are known as ``uid``, and nobody else is.

    Raises:
        OSError: this machine does not let us.
    """
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    be_known_as(uid, user, group)


def be_known_as(uid: int, user: int, group: int, *, proc: str = "/proc") -> None:
    """Have the outer ``user`` and ``group`` known as ``uid`` in the user namespace that we are the first in.

    Args:
        uid: a user id.
        user: who has made the namespace, outside of it.
        group: likewise.
        proc: where the process tree is mounted.

    Raises:
        OSError: this machine does not let us.
    """
    linux.set_dumpable(True)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {user} 1"), ("gid_map", f"{uid} {group} 1")):
        with open(f"{proc}/self/{name}", "w") as stream:
            stream.write(text)
    linux.set_dumpable(False)
