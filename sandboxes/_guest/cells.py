# ruff: noqa: PTH208, TID251
"""Runs the cells of one stateful sandbox: the init's side of ``notebook``.

A cell ends when its process says so or dies, at the deadline, or when the host cancels it. Then every process is killed
but the one that holds the state: that of the cell, or, if the cell came to a bad end, the one it was forked from.
Threads that a cell leaves running would be lost in a fork. So the next cell runs in the same process, whose bad end
then takes the state with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from . import group
from .inspection import shared_by
from .notebook import Notebook
from .processes import kill_others
from .starting import start
from .state import State, hear, number, process_id
from .steps import MAX_RSS_PER_MIB, Watch, end_status, wake_on_children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["CellRunner"]


class CellRunner:
    """Runs the cells of one sandbox, one at a time.

    Attributes:
        state: who holds the variables; None before the first cell.
    """

    def __init__(self, config: dict[str, Any], control: int, state: State | None, count: int) -> None:
        """Serve the host at descriptor ``control``; go on from ``state`` after ``count`` cells."""
        self.state = state
        self.count = count
        self._config = config
        self._control = control
        self._wake = wake_on_children()

    def run(self, request: dict[str, Any], code: bytes) -> dict[str, Any]:
        """Run ``code`` until it ends, is too slow (``timeout`` seconds), too loud, or cancelled.

        Returns:
            the fields of a StepResult but the tier, or ``problem`` if the interpreter could not be started.

        Raises:
            EOFError: the host is gone.
        """
        started, kills = time.monotonic(), group.out_of_memory_kills(self._config["group"])
        self.count += 1
        if self.state is None:
            problem = self._start()
            if problem:
                return {"problem": problem}
        assert self.state is not None
        watch = Watch(self._config, self._control, started + request["timeout"])
        cell = _Cell(self.state, self.count)
        cell.begin(code, watch.writer, {name: request[name] for name in ("seed", "diverge")})
        try:
            watch.wait({**cell.listeners(), self._wake: lambda: cell.reap(self._wake)}, cell.has_ended)
        finally:
            spent = self._end(cell)
            output = watch.finish()
        return {
            **cell.status(watch.reason, self._config["group"], kills),
            **output,
            "wall_s": time.monotonic() - started,
            "cpu_s": cell.cpu_s or spent,
            "peak_mib": cell.peak_rss / MAX_RSS_PER_MIB,
            "state": cell.outcome,
        }

    def processes(self) -> list[int]:
        """Who runs between steps: the one that holds the variables."""
        return [self.state.pid] if self.state is not None else []

    def unforkable(self) -> str:
        """Why the state can't be forked, if so."""
        if self.state is None:
            return ""
        if self.state.threads > 1:
            return "threads still run"
        if self._config["tier"] not in "AB":
            return "without namespaces a fork would share its parent's files"
        try:
            return shared_by(self.state.pid)
        except OSError as error:
            return f"its files can't be told: {error.strerror}"

    def _start(self) -> str:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        pid, problem = start(self._config, lambda: Notebook(self._config, theirs), output=nowhere, line=theirs.fileno())
        os.close(nowhere)
        theirs.close()
        if problem:
            ours.close()
        else:
            self.state = State(pid, ours)
        return problem

    def _end(self, cell: _Cell) -> float:
        """Kill all but the process that holds the state from now on; the CPU seconds of what was killed."""
        keeper = cell.keeper()
        spent, kept = kill_others({keeper.pid} if keeper else set(), isolated=self._config["tier"] in "AB")
        cell.reap(self._wake)
        self.state = cell.settle(keeper if kept else None)
        return spent


class _Cell:
    """The running cell.

    Attributes:
        outcome: what became of the state.
        cpu_s: CPU seconds, if its process or that one's parent told.
        peak_rss: likewise, its peak resident size.
    """

    def __init__(self, before: State, number: int) -> None:
        self.outcome = "kept"
        self.cpu_s = 0.0
        self.peak_rss = 0.0
        self._number = number
        self._before = before
        self._after: State | None = None
        self._ended = False
        self._exit_code = 0
        self._died: int | None = None
        self._lost = False

    def begin(self, code: bytes, writer: int, draws: dict[str, Any]) -> None:
        """Have the cell run: in a child of the process that holds the state, or in that process itself."""
        source = os.memfd_create("cell")
        with open(source, "wb", closefd=False) as stream:
            stream.write(code)
        os.lseek(source, 0, os.SEEK_SET)
        descriptors, theirs = [source, writer], None
        if self._before.threads == 1:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._after = State(0, ours)
            descriptors.append(theirs.fileno())
        try:
            self._before.tell({"op": "run", "number": self._number, **draws}, descriptors)
        except OSError:
            self._lost = True
        finally:
            os.close(source)
            if theirs is not None:
                theirs.close()

    def listeners(self) -> dict[int, Callable[[], bool]]:
        """The sockets to listen to, and what to do when they are readable."""
        listeners = {self._before.line.fileno(): self._hear_parent}
        if self._after is not None:
            listeners[self._after.line.fileno()] = self._hear_child
        return listeners

    def has_ended(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._ended or self._died is not None or self._lost

    def reap(self, wake: int) -> bool:
        """Take leave of every child that has ended."""
        with contextlib.suppress(BlockingIOError):
            while os.read(wake, 4096):
                pass
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._lost = self._lost or (ended == self._before.pid and not self._ended)
        return True

    def keeper(self) -> State | None:
        """Who is to hold the state from now on; None if there is none left."""
        if self._ended:
            return self._after or self._before
        return None if self._lost or self._after is None else self._before

    def settle(self, keeper: State | None) -> State | None:
        """Record what became of the state, and hang up on who does not hold it."""
        for state in (self._before, self._after):
            if state is not None and state is not keeper:
                state.line.close()
        if keeper is None:
            self.outcome = "lost"
        elif not self._ended:
            self.outcome = "rolled_back"
        else:
            with contextlib.suppress(OSError):
                keeper.threads = len(os.listdir(f"/proc/{keeper.pid}/task"))
        return keeper

    def status(self, reason: str, joined: dict[str, Any], kills: int) -> dict[str, Any]:
        """Status, exit code and signal of a StepResult."""
        if self._ended:
            return {"status": "error" if self._exit_code else "ok", "exit_code": self._exit_code, "signal": None}
        return end_status(reason, signal.SIGKILL if self._died is None else self._died, joined, kills)

    def _hear_child(self) -> bool:
        """The process that runs the cell has something to say, or has hung up: then its parent tells how it died."""
        assert self._after is not None
        told = hear(self._after.line)
        if told is None:
            return False
        if told.get("op") == "ended":
            self._after.pid = process_id(told)
            self._take(told)
        return True

    def _hear_parent(self) -> bool:
        """The process that held the state has something to say: that its child died, or, in place, that it is done."""
        told = hear(self._before.line)
        if told is None:
            self._lost = True
            return False
        if told.get("op") == "died" and told.get("number") == self._number:
            self._died = int(number(told, "status")) & 0xFFFF
            self.cpu_s, self.peak_rss = number(told, "cpu_s"), number(told, "peak")
        elif told.get("op") == "ended" and self._after is None:
            self._take(told)
        return True

    def _take(self, told: dict[str, Any]) -> None:
        self.cpu_s, self.peak_rss = number(told, "cpu_s"), number(told, "peak")
        self._exit_code = int(number(told, "exit_code")) & 0xFF
        self._ended = True
