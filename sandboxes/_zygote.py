"""The host's hold on a zygote: the warm interpreter of one image, which is forked for every sandbox.

A zygote belongs to no event loop. It dies when it is closed, when nothing refers to it any more, and when this process
ends in whatever way; its sandboxes die with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from pathlib import Path

from sandmle.errors import InfraError
from sandmle.sandboxes._guest import wire
from sandmle.sandboxes._guest.launch import LAUNCH
from sandmle.sandboxes._guest.script import MAIN
from sandmle.sandboxes._layout import Interpreter, base_environment

__all__ = ["Zygote"]

_NOWHERE = "/nonexistent"
_GUEST_PARENT = Path(__file__).resolve().parent


class Zygote:
    """A started zygote; it takes requests at once, and serves them when its libraries are imported."""

    def __init__(self, interpreter: Interpreter, image: str) -> None:
        """Start it.

        Raises:
            InfraError: the interpreter can't be started.
        """
        self._control, theirs = socket.socketpair()
        self._complaints = os.memfd_create("zygote") if sys.platform == "linux" else os.open(os.devnull, os.O_RDWR)
        program = MAIN.format(
            folder=str(_GUEST_PARENT), control=theirs.fileno(), host=os.getpid(), image=image
        ).encode()
        started: Future[subprocess.Popen[bytes]] = Future()
        # The kernel takes the thread that starts a process for its parent: this one lasts as long as the zygote.
        self._life = threading.Thread(
            target=_live, args=(started, interpreter, program, theirs, self._complaints), name="zygote", daemon=True
        )
        self._life.start()
        try:
            process = started.result()
        except OSError as error:
            _end(os.getpid(), None, self._control, self._complaints)
            raise InfraError(f"{interpreter.executable}: can't be started ({error.strerror or error})") from error
        self._finalizer = weakref.finalize(self, _end, os.getpid(), process, self._control, self._complaints)

    @property
    def alive(self) -> bool:
        """Whether it can be asked for sandboxes."""
        return self._finalizer.alive and self._life.is_alive()

    def fork(self, channel: socket.socket, namespaces: int) -> None:
        """Have a sandbox forked that serves the other end of ``channel``; into which namespaces says ``wire``.

        Raises:
            InfraError: the zygote is gone.
        """
        try:
            socket.send_fds(self._control, [wire.ORDER.pack(wire.FORK, namespaces)], [channel.fileno()])
        except OSError as error:
            raise InfraError(f"the sandboxes' warm interpreter is gone: {self.last_words() or error}") from error

    def kill(self, pid: int) -> None:
        """Have the sandbox with this process id killed, if it still is one."""
        with contextlib.suppress(OSError):
            self._control.send(wire.ORDER.pack(wire.KILL, pid))

    def last_words(self) -> str:
        """The last line that it or one of its sandboxes wrote to stderr."""
        if sys.platform != "linux" or not self._finalizer.alive:
            return ""
        size = os.fstat(self._complaints).st_size
        lines = os.pread(self._complaints, 2000, max(0, size - 2000)).decode("utf-8", "replace").splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        """Kill it, and with it its sandboxes, and wait until it is gone; safe to call twice."""
        self._finalizer()
        self._life.join()


def _end(owner: int, process: subprocess.Popen[bytes] | None, control: socket.socket, complaints: int) -> None:
    if os.getpid() == owner and process is not None:
        process.kill()
    control.close()
    os.close(complaints)


def _live(
    started: Future[subprocess.Popen[bytes]],
    interpreter: Interpreter,
    program: bytes,
    control: socket.socket,
    complaints: int,
) -> None:
    """Start the zygote and see it through to its end."""
    try:
        with control:
            process = subprocess.Popen(
                _command(interpreter),
                pass_fds=[control.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env=_environment(interpreter),
                cwd="/",
                start_new_session=True,
            )
    except OSError as error:
        started.set_exception(error)
        return
    started.set_result(process)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(program)
    del started, process.stdin
    process.wait()


def _command(interpreter: Interpreter) -> list[str]:
    """An interpreter that reads its program from stdin."""
    if sys.platform != "linux" or os.geteuid() == 0:
        return [interpreter.executable, "-P"]
    return [interpreter.executable, "-IBS", "-c", LAUNCH.format(folder=str(_GUEST_PARENT))]


def _environment(interpreter: Interpreter) -> dict[str, str]:
    """That of steps, but for the places: the zygote still sees the host's files, where others may have written."""
    environment = base_environment(interpreter, workspace=_NOWHERE, home=_NOWHERE)
    del environment["PYTHONPATH"]
    return {**environment, "TZ": "UTC0"}
