# ruff: noqa: TID251
"""A branch: what a fork of a sandbox makes of it.

A sandbox that has been forked is *frozen*: it runs no step any more, and serves the host as a zygote does, by forking
branches, one of which goes on as the sandbox itself. A branch has an init of its own, in namespaces below those of the
frozen one, since only from there a process that code has run in may enter them. So code in a branch sees neither the
frozen sandbox nor another branch. It works in layers laid over the frozen folders, and starts with a fork of the frozen
interpreter, which is stopped except while it is being forked.

All this ends when the frozen init does; so the host keeps it as long as one branch lives.
"""

from __future__ import annotations

import os
import signal
import socket
import traceback

from . import group, linux, wire
from .forks import serve_forks
from .namespaces import OTHERS, become_first, enter_user_namespace
from .root import Root, lay_over, move_out
from .script import Become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .cells import State

__all__ = ["Place", "serve_branches"]

_JOINED = ("user", "net", "ipc", "uts", "cgroup", "pid", "mnt")
"""The namespaces that the fork of an interpreter enters; that of users first, for it gives the right to the others."""

_WAKE, _DONE = b"w", b"d"
"""What a branch's init tells the frozen one: wake the interpreter, and it may be stopped again."""


class Place:
    """What an init serves: its configuration, its root and, if it is stateful, who holds the variables."""

    def __init__(self, config: dict[str, Any], root: Root, state: State | None = None, cells: int = 0) -> None:
        """Serve ``state`` after ``cells`` cells."""
        self.config = config
        self.root = root
        self.state = state
        self.cells = cells


def serve_branches(place: Place, control: int, serve: Callable[[Place, int], None]) -> None:
    """Fork branches of ``place`` until the host hangs up; each is handed to ``serve`` with its channel.

    Raises:
        Become: in the processes of steps.
    """
    if place.state is not None:
        os.kill(place.state.pid, signal.SIGSTOP)
    serve_forks(socket.socket(fileno=control), lambda channel: _fork_branch(place, control, channel, serve))


def _fork_branch(place: Place, control: int, channel: int, serve: Callable[[Place, int], None]) -> None:
    """Fork the process that waits for a branch's init; wake the interpreter while the branch asks for it."""
    told, tell = os.pipe()
    if os.fork() == 0:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            os.close(told)
            os.close(control)
            _serve_branch(place, channel, tell, serve)
        except Become:
            raise
        except (EOFError, ConnectionError):
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a branch must never go on as a second frozen init
            traceback.print_exc()
        os._exit(1)
    os.close(tell)
    if place.state is not None and os.read(told, 1) == _WAKE:
        os.kill(place.state.pid, signal.SIGCONT)
        os.read(told, 1)
        os.kill(place.state.pid, signal.SIGSTOP)
    os.close(told)


def _serve_branch(place: Place, channel: int, tell: int, serve: Callable[[Place, int], None]) -> None:
    joined = group.receive(channel)
    order, _ = wire.read_frame(channel)
    pid = os.getpid()
    try:
        config = {**place.config, "group": joined, "switch_user": False}
        if place.config["switch_user"]:
            _take_user(config["uid"])
        move_out(place.root)
        enter_user_namespace(config["uid"], proc="/new/proc")
        become_first()
        linux.unshare(OTHERS)
        root = lay_over(config, place.root)
        linux.set_hostname("sandbox")
        linux.loopback_up()
        state = _adopt(place.state, order["index"], tell, joined["join"]) if place.state is not None else None
    except OSError as error:
        wire.write_frame(channel, {"problem": str(error)})
        os._exit(1)
    if state is not None:
        os.write(tell, _DONE)
    os.close(tell)
    wire.write_frame(channel, {"ready": True, "pid": pid})
    serve(Place(config, root, state, place.cells), channel)


def _adopt(state: State, index: int, tell: int, join: list[int]) -> State:
    namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in _JOINED]
    os.write(tell, _WAKE)
    branch = state.branch(namespaces, index, join)
    for namespace in namespaces:
        os.close(namespace)
    state.line.close()
    return branch


def _take_user(uid: int) -> None:
    """Become the sandbox's user, who must own the user namespace, but keep the capabilities to make the others."""
    linux.keep_capabilities()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    linux.raise_capabilities()
