# ruff: noqa: PTH123, PTH208, TID251
"""One step: fork a process for the script, read what it prints, end it and everything it started.

A step ends when its main process does, or at the deadline, or when the host cancels it; never on the end of the output,
which a grandchild may hold open. Then every process is killed and reaped until none is left.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import sys
import time

from . import wire
from .confine import confine, limit
from .output import OutputBuffer
from .script import Become, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["StepRunner"]

_FLOOD = 64 << 20
_CHUNK = 1 << 18
_MAX_RSS_PER_MIB = 1024 if sys.platform == "linux" else 1 << 20


class StepRunner:
    """Runs the steps of one sandbox, one at a time."""

    def __init__(self, config: dict[str, Any], control: int, script: int) -> None:
        """Serve the host at descriptor ``control``; write each script through descriptor ``script``."""
        self._config = config
        self._control = control
        self._script = script
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self, request: dict[str, Any], code: bytes) -> dict[str, Any]:
        """Run ``code`` until it ends, is too slow (``timeout`` seconds), too loud, or cancelled.

        Returns:
            the fields of a StepResult but the tier, or ``problem`` if the step could not be started.

        Raises:
            EOFError: the host is gone.
        """
        started, cpu, kills = time.monotonic(), _children_cpu(), _out_of_memory_kills()
        _rewrite(self._script, code)
        reader, writer = os.pipe()
        main, problem = self._start(request, code, writer)
        os.close(writer)
        step = _Step(main, reader, started + request["timeout"], self._buffer())
        try:
            if not problem:
                self._watch(step)
        finally:
            self._end(step)
            os.close(reader)
        if problem:
            return {"problem": problem}
        head, tail = step.output.finish()
        return {
            **_verdict(step, _out_of_memory_kills() > kills),
            "head": head,
            "tail": tail,
            "total_bytes": step.output.total_bytes,
            "wall_s": time.monotonic() - started,
            "cpu_s": _children_cpu() - cpu,
            "peak_mib": step.peak_rss / _MAX_RSS_PER_MIB,
        }

    def _buffer(self) -> OutputBuffer:
        pairs = tuple((old.encode(), new.encode()) for old, new in self._config["replacements"])
        return OutputBuffer(self._config["limits"]["output_bytes"], pairs)

    def _start(self, request: dict[str, Any], code: bytes, writer: int) -> tuple[int, str]:
        """Fork; returns the process id, and why the child could not become the step if so.

        Raises:
            Become: in the child.
        """
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                script = self._become_step(request, code, writer, tell)
            except BaseException as error:  # noqa: BLE001 - the last words of a child that must not return
                os.write(tell, f"{type(error).__name__}: {error}".encode())
                os._exit(1)
            raise Become(script)
        os.close(tell)
        problem = b""
        while part := os.read(told, 4096):
            problem += part
        os.close(told)
        return pid, problem.decode("utf-8", "replace")

    def _become_step(self, request: dict[str, Any], code: bytes, writer: int, tell: int) -> Script:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        signal.set_wakeup_fd(-1)
        os.closerange(3, tell)
        os.closerange(tell + 1, os.sysconf("SC_OPEN_MAX"))
        confine(self._config)
        cores = os.cpu_count() or 1
        limit(self._config, math.ceil(request["timeout"]) * cores + 10)
        os.chdir(self._config["workspace"])
        script = Script(self._config, request["args"], code)
        os.close(tell)
        return script

    def _watch(self, step: _Step) -> None:
        """Read the step's output until it ends or must be ended."""
        sources = [self._control, self._wake, step.reader]
        while step.wait_status is None and not step.reason:
            left = step.deadline - time.monotonic()
            ready = select.select(sources, [], [], left)[0] if left > 0 else []
            if not ready:
                step.reason = "timeout"
            if self._wake in ready:
                _drain(self._wake)
                step.reap()
            if self._control in ready:
                message, _ = wire.read_frame(self._control)
                step.reason = "killed" if message["op"] == "cancel" else ""
            if step.reader in ready and not step.read():
                sources.remove(step.reader)

    def _end(self, step: _Step) -> None:
        """Kill and reap until no process is left, then take what is still in the pipe."""
        while True:
            _kill_all(isolated=self._config["tier"] != "D")
            if not step.reap_one():
                break
        _drain(self._wake)
        os.set_blocking(step.reader, False)
        while step.read():
            pass


class _Step:
    """The state of the running step."""

    def __init__(self, main: int, reader: int, deadline: float, output: OutputBuffer) -> None:
        self.main = main
        self.reader = reader
        self.deadline = deadline
        self.output = output
        self.reason = ""
        self.wait_status: int | None = None
        self.peak_rss = 0

    def read(self) -> bool:
        """Take in what the pipe holds; False at its end."""
        try:
            data = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return False
        self.output.add(data)
        if self.output.total_bytes > _FLOOD and not self.reason:
            self.reason = "output_limit"
        return bool(data)

    def reap(self) -> None:
        """Take leave of every child that has ended."""
        while self._wait(os.WNOHANG):
            pass

    def reap_one(self) -> bool:
        """Wait for one child; False if there is none."""
        return self._wait(0)

    def _wait(self, options: int) -> bool:
        try:
            pid, status, usage = os.wait4(-1, options)
        except ChildProcessError:
            return False
        if pid == 0:
            return False
        self.peak_rss = max(self.peak_rss, usage.ru_maxrss)
        if pid == self.main:
            self.wait_status = status
        return True


def _verdict(step: _Step, out_of_memory: bool) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(step.wait_status or 0)
    end = {"exit_code": code if code >= 0 else None, "signal": -code if code < 0 else None}
    if step.reason:
        return {"status": step.reason, **end}
    if -code == signal.SIGKILL:
        return {"status": "oom" if out_of_memory else "killed", **end}
    if -code == signal.SIGXCPU:
        return {"status": "timeout", **end}
    return {"status": "error" if code else "ok", **end}


def _rewrite(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        pass


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _out_of_memory_kills() -> int:
    """How often the kernel has killed for want of memory, in any memory group it shows us; 0 if it does not tell."""
    try:
        with open("/proc/vmstat") as stream:
            return next((int(line.split()[1]) for line in stream if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def _kill_all(*, isolated: bool) -> None:
    if isolated:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(ancestor: int) -> list[int]:
    """All processes below ``ancestor``, found through /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stream:
                    parent = int(stream.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    found, queue = [], [ancestor]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found
