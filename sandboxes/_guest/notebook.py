# ruff: noqa: TID251
"""The interpreter of a stateful sandbox: a process that holds the variables and forks itself for every cell.

The process that holds the state waits, *frozen*. Told to run a cell it forks; the child runs the cell, and is then the
new state, while the old one is killed. If the cell comes to a bad end, its process is killed instead, and the old one
still stands. A branch of the sandbox is made in the same way, by a child that first enters the branch's namespaces.

The init speaks to each of these processes over a socket of its own, in JSON, one datagram a message::

    run      with where random numbers come from, code, output, and, unless in place, the far end of the child's socket
    branch   with the namespaces of the branch and the far end of the child's socket
    ended    from the process that ran a cell: process id, exit code, CPU seconds, peak KiB
    died     from its parent, if it could not say that: number of the cell, wait status, CPU seconds, peak KiB
    adopted  from the child in a branch: its process id there

All of these processes belong to the code that ran in them, and may lie. They can only spoil their own state.
"""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import os
import resource
import select
import signal
import socket
import sys
import traceback
from typing import NamedTuple

from . import group, linux, warm
from .script import Program, report
from .streams import begin, diverge, fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterator
    from typing import Any

__all__ = ["MESSAGE_BYTES", "Notebook"]

MESSAGE_BYTES = 65536
_MOST_DESCRIPTORS = 16


class _Child(NamedTuple):
    """The process that runs a cell, and the cell's number."""

    pid: int
    descriptor: int
    number: int


class Notebook(Program):
    """The variables of a stateful sandbox and the cells that change them."""

    def __init__(self, config: dict[str, Any], line: socket.socket) -> None:
        """Make this process that of a Python just started without a script; ``line`` leads to the init."""
        super().__init__(config, "", [])
        del self.names["__file__"]
        sys.excepthook = traceback.print_exception  # which, unlike Python's own, finds the lines of cells
        self._line = line
        self._child: _Child | None = None
        self._workspace: str = config["workspace"]

    def parts(self) -> Iterator[types.CodeType]:
        """The statements of every cell that this process, or a child that it becomes, is to run."""
        for number, source in self._cells():
            self.end = None
            before = _usage()
            try:
                parts = _split(source, f"<cell {number}>")
            except Exception as error:  # noqa: BLE001 - shown as Python shows it
                self.end = error.with_traceback(None)
                parts = []
            for part in parts:
                yield part
                if self.end is not None:
                    break
            self._end_cell(before)

    def finish(self) -> None:
        """End the process."""
        os._exit(0)

    def _cells(self) -> Iterator[tuple[int, bytes]]:
        while (told := self._hear()) is not None:
            message, descriptors = told
            if message["op"] == "branch":
                self._branch(descriptors, message["index"], message["join"])
                continue
            code, output, *line = descriptors
            if not line or self._fork(line[0], message["number"]):
                with open(code, "rb") as stream:  # noqa: PTH123
                    source = stream.read()
                _show_at(output)
                for index in message["diverge"]:
                    diverge(index)
                if message["seed"] is not None:
                    begin(message["seed"])
                yield message["number"], source
                continue
            for descriptor in descriptors:
                os.close(descriptor)

    def _hear(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next message; meanwhile tells of a child that dies."""
        while True:
            sources = [self._line.fileno()] + ([self._child.descriptor] if self._child else [])
            ready = select.select(sources, [], [])[0]
            if self._line.fileno() not in ready:
                self._mourn()
                continue
            text, descriptors, _, _ = socket.recv_fds(self._line, MESSAGE_BYTES, _MOST_DESCRIPTORS)
            if not text:
                return None
            return json.loads(text), list(descriptors)

    def _mourn(self) -> None:
        assert self._child is not None
        child, self._child = self._child, None
        os.close(child.descriptor)
        died = {"op": "died", "number": child.number, "status": int(signal.SIGKILL), "cpu_s": 0.0, "peak": 0}
        with contextlib.suppress(ChildProcessError):  # code may have its children ignored: nobody knows how they end
            _, status, usage = os.wait4(child.pid, 0)
            died.update(status=status, cpu_s=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss)
        self._tell(died)

    def _fork(self, line: int, number: int) -> bool:
        """Fork a process for cell ``number``; True in the child, which has taken the socket ``line``."""
        pid = _fork_quietly()
        if pid:
            self._child = _Child(pid, os.pidfd_open(pid), number)
            return False
        self._line.close()
        self._line = socket.socket(fileno=line)
        return True

    def _branch(self, descriptors: list[int], index: int, join: int) -> None:
        """Have a child of ours enter namespaces and go on there as the interpreter of a branch.

        The first ``join`` descriptors are those of its control group.
        """
        if pid := _fork_quietly():
            for descriptor in descriptors:
                os.close(descriptor)
            with contextlib.suppress(ChildProcessError):  # code may have its children ignored
                os.waitpid(pid, 0)
            return
        self._line.close()
        *namespaces, line = descriptors
        self._line = socket.socket(fileno=line)
        folder = _working_folder(self._workspace)
        try:
            group.join({"join": namespaces[:join]})
            for namespace in namespaces[:join]:
                os.close(namespace)
            for namespace in namespaces[join:]:
                linux.join_namespace(namespace)
                os.close(namespace)
            if _fork_quietly():
                os._exit(0)
            os.chroot("/new")
            linux.drop_bounding_set()
            linux.drop_capabilities()
            linux.set_dumpable(True)
            os.chdir(folder if os.path.isdir(folder) else self._workspace)  # noqa: PTH112
        except OSError as error:
            self._tell({"op": "failed", "problem": str(error)})
            os._exit(1)
        if index:
            diverge(index)
        self._tell({"op": "adopted", "pid": os.getpid()})

    def _end_cell(self, before: tuple[float, int]) -> None:
        """Show how the cell ended and tell the init."""
        error, self.end = self.end, None
        status = report(error)
        del error
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _show_at(os.open(os.devnull, os.O_WRONLY))
        _end_workers()
        warm.pause_openmp()
        cpu, peak = _usage()
        ended = {"op": "ended", "pid": os.getpid(), "exit_code": status if status >= 0 else 128 - status}
        self._tell({**ended, "cpu_s": cpu - before[0], "peak": peak})

    def _tell(self, message: dict[str, Any]) -> None:
        self._line.send(json.dumps(message).encode())


def _split(source: bytes, path: str) -> list[types.CodeType]:
    """Compile a cell; if its last statement is an expression, it becomes a part of its own that shows its value."""
    text = source.decode("utf-8", "replace")
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    body = ast.parse(source, path).body
    last = [body.pop()] if body and isinstance(body[-1], ast.Expr) else []
    parts = [compile(ast.Module(body, []), path, "exec", dont_inherit=True)] if body else []
    return parts + [compile(ast.Interactive([part]), path, "single", dont_inherit=True) for part in last]


def _fork_quietly() -> int:
    """Fork without what libraries do at forks: threads of OpenMP are ended before, and random streams go on."""
    warm.pause_openmp()
    return fork()


def _show_at(descriptor: int) -> None:
    """Let this process print to ``descriptor``, which is used up."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _usage() -> tuple[float, int]:
    """CPU seconds of this process and its ended children, and its peak KiB."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, own.ru_maxrss


_POOLS = ("joblib.externals.loky.reusable_executor", "loky.reusable_executor")
_TRACKERS = (
    *("multiprocessing.resource_tracker", "loky.backend.resource_tracker"),
    "joblib.externals.loky.backend.resource_tracker",
)


def _end_workers() -> None:
    """End joblib's pool and the trackers of its resources: killed with the cell, they would be missed by the next."""
    for name in _POOLS:
        module = sys.modules.get(name)
        if module is not None and getattr(module, "_executor", None) is not None:
            with contextlib.suppress(Exception):
                vars(module)["_executor"].shutdown(wait=True, kill_workers=True)
            vars(module)["_executor"] = None
    for name in _TRACKERS:
        tracker: Any = getattr(sys.modules.get(name), "_resource_tracker", None)
        if tracker is not None and tracker._pid is not None:
            with contextlib.suppress(OSError):
                os.kill(tracker._pid, signal.SIGKILL)  # asked to stop, it would complain of what it tracks
                os.waitpid(tracker._pid, 0)
                os.close(tracker._fd)
            tracker._pid = tracker._fd = None


def _working_folder(workspace: str) -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return workspace
