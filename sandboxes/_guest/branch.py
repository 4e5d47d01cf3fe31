# ruff: noqa: TID251
"""A branch: what a fork of a sandbox makes of it.

A sandbox that has been forked is *frozen*: it runs no step any more, and serves the host as a zygote does, by forking
branches, one of which goes on as the sandbox itself. A branch has an init of its own, in namespaces below those of the
frozen one, since only from there a process that code has run in may enter them. So code in a branch sees neither the
frozen sandbox nor another branch. It works in layers laid over the frozen folders, and starts with a fork of the frozen
interpreter, which is stopped except while it is being forked. That fork gives up its rights itself, in memory that code
could change; so it is judged before it is believed, when all who may have helped it are dead.

All this ends when the frozen init does; so the host keeps it as long as one branch lives.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import NoReturn

from . import group, linux, wire
from .forks import Forks
from .inspection import fault_of, is_at_home
from .namespaces import OTHERS, be_known_as
from .processes import kill_others, kill_strays
from .root import Root, lay_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .state import State

__all__ = ["Branches", "Place"]

_JOINED = ("user", "net", "ipc", "uts", "cgroup", "pid", "mnt")
"""The namespaces that the fork of an interpreter enters; that of users first, for it gives the right to the others."""

_WAKE, _TAKEN, _ALONE = b"w", b"t", b"a"
"""What a branch's init and the frozen one say: wake the interpreter; it has been forked; its helpers are dead."""


class Place:
    """What an init serves: its configuration, its root and, if it is stateful, who holds the variables."""

    def __init__(self, config: dict[str, Any], root: Root, state: State | None = None, cells: int = 0) -> None:
        """Serve ``state`` after ``cells`` cells."""
        self.config = config
        self.root = root
        self.state = state
        self.cells = cells


class Branches(Forks):
    """Branches of one frozen sandbox."""

    def __init__(self, place: Place, control: int, serve: Callable[[Place, int], NoReturn]) -> None:
        """Fork branches of ``place`` as the host says at ``control``; ``serve`` them, each at its own channel."""
        super().__init__(socket.socket(fileno=control))
        self._place = place
        self._serve = serve
        self._gone = False
        self._signal(signal.SIGSTOP)

    def fork(self, flags: int) -> tuple[int, int]:
        """Fork from the bare root, where alone namespaces can be made, as the user who is to own that of users."""
        uid, switch = self._place.config["uid"], self._place.config["switch_user"]
        self._ours, self._theirs = socket.socketpair()
        self._place.root.move_out()
        if switch:
            os.setgroups([])
            os.setresgid(-1, uid, -1)
            os.setresuid(-1, uid, -1)
            linux.raise_capabilities()
        pid = -1
        try:
            pid, own = linux.fork_into(flags)
        finally:
            if pid and switch:
                os.setresuid(-1, os.getuid(), -1)
                os.setresgid(-1, os.getgid(), -1)
                linux.die_with_parent()
            if pid:
                self._theirs.close()
                self._place.root.move_in()
            if pid < 0:
                self._ours.close()
        return pid, own

    def forked(self) -> None:
        """Wake the interpreter while the branch asks for it, and see to it that nothing else has come of it."""
        state = self._place.state
        with self._ours as branch:
            if state is None or self._gone or branch.recv(1) != _WAKE:
                return
            self._signal(signal.SIGCONT)
            branch.recv(1)
            self._signal(signal.SIGSTOP)
            if kill_strays(state.pid) and is_at_home(state.pid):
                with contextlib.suppress(OSError):
                    branch.send(_ALONE)
            else:
                self.seal()

    def seal(self) -> None:
        """End the interpreter: there will be no more branches."""
        self._signal(signal.SIGKILL)
        self._gone = True

    def _signal(self, number: signal.Signals) -> None:
        """Signal the interpreter, if it is there: the kernel may have killed it for want of memory."""
        if self._place.state is not None and not self._gone:
            try:
                os.kill(self._place.state.pid, number)
            except ProcessLookupError:
                self._gone = True

    def serve(self, channel: int, pid: int) -> NoReturn:
        """Make a branch and serve it."""
        signal.set_wakeup_fd(-1)
        self._ours.close()
        joined = group.receive(channel)
        order, _ = wire.read_frame(channel)
        config = {**self._place.config, "group": joined, "switch_user": False}
        try:
            _take_user(config["uid"])
            linux.unshare(OTHERS)
            root = lay_over(config, self._place.root)
            linux.set_hostname("sandbox")
            linux.loopback_up()
        except OSError as error:
            wire.write_frame(channel, {"problem": str(error)})
            os._exit(1)
        try:
            state = self._adopt(order["index"], joined["join"])
        except OSError as error:
            wire.write_frame(channel, {"problem": str(error), "unforkable": True})
            os._exit(1)
        self._theirs.close()
        wire.write_frame(channel, {"ready": True, "pid": pid})
        self._serve(Place(config, root, state, self._place.cells), channel)

    def _adopt(self, index: int, join: list[int]) -> State | None:
        state = self._place.state
        if state is None:
            return None
        if self._gone:
            raise OSError("the interpreter is gone")
        namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in _JOINED]
        self._theirs.send(_WAKE)
        branch = state.branch(namespaces, index, join)
        self._theirs.send(_TAKEN)
        if self._theirs.recv(1) != _ALONE:
            raise OSError("the interpreter has left something behind")
        kill_others({branch.pid}, isolated=True)
        if fault := fault_of(branch.pid):
            raise OSError(f"the interpreter's fork has kept {fault}")
        for namespace in namespaces:
            os.close(namespace)
        state.line.close()
        return branch


def _take_user(uid: int) -> None:
    """Become the sandbox's user, whose namespace we are the first in, with all rights there."""
    be_known_as(uid, uid, uid, proc="/new/proc")
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    linux.die_with_parent()
