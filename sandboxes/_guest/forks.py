# ruff: noqa: TID251
"""Serves forks: what a zygote does for new sandboxes, and the init of a frozen one for its branches.

The host sends orders (see ``wire``). Nothing comes back: a sandbox speaks for itself over its channel, which comes with
the order to fork it. That stays open here until the sandbox is gone, so that the host sees its end only when nothing
inside is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import traceback
from abc import ABC, abstractmethod
from typing import NoReturn

from . import linux, wire
from .script import Become

__all__ = ["Forks"]

_FLAGS = {
    wire.ALONE: 0,
    wire.PROCESSES: linux.CLONE_NEWPID,
    wire.USERS: linux.CLONE_NEWUSER | linux.CLONE_NEWPID,
}
_REAPED = {signal.SIGCHLD}


class Forks(ABC):
    """Serves forks at one control channel."""

    def __init__(self, control: socket.socket) -> None:
        """Serve ``control``."""
        self._control = control
        self._children: dict[int, tuple[int, int]] = {}

    def listen(self) -> None:
        """Do what the host says, until it hangs up.

        Raises:
            Become: in the processes of steps.
        """
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        while True:
            message, descriptors, _, _ = socket.recv_fds(self._control, wire.ORDER.size, 1)
            if len(message) < wire.ORDER.size:
                return
            kind, number = wire.ORDER.unpack(message)
            if kind == wire.KILL:
                self._kill(number)
            elif kind == wire.SEAL:
                self.seal()
            for channel in descriptors:
                self._fork(channel, _FLAGS[number])

    def fork(self, flags: int) -> tuple[int, int]:
        """Fork as ``linux.fork_into`` does."""
        return linux.fork_into(flags)

    @abstractmethod
    def forked(self) -> None:
        """Called in the parent after each fork."""

    @abstractmethod
    def seal(self) -> None:
        """Called when the host wants no more forks."""

    @abstractmethod
    def serve(self, channel: int, pid: int) -> NoReturn:
        """What the child does: serve ``channel`` as the sandbox whose process id is ``pid`` here.

        Raises:
            Become: in the processes of steps.
        """

    def _fork(self, channel: int, flags: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _REAPED)
        try:
            pid, own = self.fork(flags)
        except OSError as error:
            pid, own = -1, 0
            _refuse(channel, error)
        if pid == 0:
            self._become_child(channel, own)
        if pid > 0:
            self._children[pid] = channel, flags
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _REAPED)
        if pid > 0:
            self.forked()

    def _become_child(self, channel: int, own: int) -> NoReturn:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _REAPED)
            self._control.close()
            for other, _ in self._children.values():
                os.close(other)
            self.serve(channel, own)
        except Become:
            raise
        except (EOFError, ConnectionError):
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a sandbox must never go on as a second forker
            traceback.print_exc()
        os._exit(1)

    def _kill(self, pid: int) -> None:
        """End a child that has not been reaped: until then its number can't be another's.

        Without namespaces, by a signal that a guard (see ``alone``) can answer; the others die of it.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, _REAPED)
        if pid in self._children:
            os.kill(pid, signal.SIGKILL if self._children[pid][1] else signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _REAPED)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                if pid in self._children:
                    os.close(self._children.pop(pid)[0])


def _refuse(channel: int, error: OSError) -> None:
    """Tell the host that a sandbox could not be forked: this machine forbids such namespaces, or has no room."""
    with contextlib.suppress(OSError):
        wire.write_frame(channel, {"problem": str(error)})
    os.close(channel)
