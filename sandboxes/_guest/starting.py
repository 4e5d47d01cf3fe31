# ruff: noqa: TID251
"""Starts the processes in which code runs: forks of the init that give up every right and go on as a program."""

from __future__ import annotations

import os
import signal

from . import group
from .confine import confine, limit
from .script import Become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .script import Program

__all__ = ["start"]


def start(
    config: dict[str, Any],
    make: Callable[[], Program],
    *,
    output: int,
    cpu_seconds: int | None = None,
    line: int | None = None,
) -> tuple[int, str]:
    """Fork a process that prints to ``output`` and goes on as the program that ``make`` returns there.

    Args:
        config: what the init was told.
        make: called in the child when it is confined and in the workspace.
        output: a descriptor for stdout and stderr.
        cpu_seconds: CPU time after which the kernel ends it, if at all.
        line: a descriptor that it keeps; such a process may enter namespaces that the init makes for it.

    Returns:
        its process id, and why it could not become the program if so.

    Raises:
        Become: in the child.
    """
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            group.join(config["group"])
            _take_streams(output, {tell} if line is None else {tell, line})
            confine(config, forkable=line is not None)
            limit(config, cpu_seconds)
            os.chdir(config["workspace"])
            program = make()
            os.close(tell)
        except BaseException as error:  # noqa: BLE001 - the last words of a child that must not return
            os.write(tell, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        raise Become(program)
    os.close(tell)
    problem = b""
    while part := os.read(told, 4096):
        problem += part
    os.close(told)
    return pid, problem.decode("utf-8", "replace")


def _take_streams(output: int, kept: set[int]) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.set_wakeup_fd(-1)
    first = 3
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(first, descriptor)
        first = descriptor + 1
