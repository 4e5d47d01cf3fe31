# ruff: noqa: PTH123, PTH208
"""The processes of a sandbox, as its init sees them: who they are, what they have used, and how they end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Process", "alive", "kill_all", "kill_others", "pin", "threads_of"]

_TRIES = 100
_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process that has not ended.

    Attributes:
        pid: its process id.
        parent: that of its parent.
        cpu_s: CPU seconds of it and its ended children.
    """

    pid: int
    parent: int
    cpu_s: float


def alive(*, isolated: bool) -> list[Process]:
    """Everything that runs in the sandbox but its init: all there is in our pid namespace, else our descendants."""
    found = {process.pid: process for process in _read_all()}
    if isolated:
        found.pop(os.getpid(), None)
        return list(found.values())
    children: dict[int, list[Process]] = {}
    for process in found.values():
        children.setdefault(process.parent, []).append(process)
    below, queue = [], [os.getpid()]
    while queue:
        level = children.get(queue.pop(), [])
        below += level
        queue += [process.pid for process in level]
    return below


def kill_all(*, isolated: bool) -> None:
    """Kill everything in the sandbox; who is forked meanwhile is not found without a pid namespace."""
    if isolated:
        _signal_everybody(signal.SIGKILL)
        return
    for process in alive(isolated=False):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def kill_others(keep: set[int], *, isolated: bool) -> tuple[float, set[int]]:
    """Kill everything in the sandbox but ``keep``, and wait until it is gone.

    Nothing can fork meanwhile: all are stopped first.

    Returns:
        CPU seconds of what was killed, and which of ``keep`` are there: code may have named any process.
    """
    if isolated:
        _signal_everybody(signal.SIGSTOP)
    spent = 0.0
    while True:
        found = {process.pid: process.cpu_s for process in alive(isolated=isolated)}
        others = found.keys() - keep
        if not others:
            break
        spent += sum(found[pid] for pid in others)
        _kill_and_wait(others)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return spent, set(found)


def _signal_everybody(number: signal.Signals) -> None:
    """Signal all other processes of our pid namespace.

    Raises:
        RuntimeError: we are not its first process: outside of a namespace of ours, this would reach the whole machine.
    """
    if os.getpid() != 1:
        raise RuntimeError("only the first process of a pid namespace may signal everybody")
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def kill_strays(keep: int) -> bool:
    """Kill everything in our very pid namespace but ``keep``, sparing what is in namespaces below it.

    Returns:
        whether nothing is left; what forks fast enough may be.
    """
    for _ in range(_TRIES):
        strays = [one.pid for one in alive(isolated=True) if one.pid != keep and not _is_below(one.pid)]
        if not strays:
            return True
        _kill_and_wait(strays)
    return False


def _is_below(pid: int) -> bool:
    """Whether a process is in a pid namespace below ours; one that is gone is not."""
    try:
        with open(f"/proc/{pid}/status") as stream:
            return any(line.startswith("NSpid:") and len(line.split()) > 2 for line in stream)
    except OSError:
        return False


def _kill_and_wait(pids: Iterable[int]) -> None:
    dying = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            dying.append(descriptor)
            os.kill(pid, signal.SIGKILL)
    for descriptor in dying:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll()
        os.close(descriptor)


def _read_all() -> Iterable[Process]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as stream:
                fields = stream.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            yield Process(int(name), int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def threads_of(user: int) -> int:
    """How many threads run with this real user id on the whole machine, as far as it shows."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, KeyError), open(f"/proc/{name}/status") as stream:
                fields = dict(line.split(":", 1) for line in stream)
                count += int(fields["Threads"]) if int(fields["Uid"].split()[0]) == user else 0
    return count


def pin(cores: list[int], pids: list[int]) -> None:
    """Bind this process, and so what it forks, and the processes ``pids`` to some cores of the machine."""
    if hasattr(os, "sched_setaffinity"):
        for pid in (0, *pids):
            with contextlib.suppress(OSError):  # it is dead, or a core has been taken away
                os.sched_setaffinity(pid, cores)
