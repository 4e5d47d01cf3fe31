# ruff: noqa: TID251
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

from . import group, wire
from .output import OutputBuffer
from .processes import kill_all
from .script import Script
from .starting import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["MAX_RSS_PER_MIB", "StepRunner", "Watch", "end_status", "wake_on_children"]

MAX_RSS_PER_MIB = 1024 if sys.platform == "linux" else 1 << 20
_FLOOD = 64 << 20
_CHUNK = 1 << 18


class StepRunner:
    """Runs the scripts of one sandbox, one at a time."""

    def __init__(self, config: dict[str, Any], control: int, script: int) -> None:
        """Serve the host at descriptor ``control``; write each script through descriptor ``script``."""
        self._config = config
        self._control = control
        self._script = script
        self._wake = wake_on_children()

    def run(self, request: dict[str, Any], code: bytes) -> dict[str, Any]:
        """Run ``code`` until it ends, is too slow (``timeout`` seconds), too loud, or cancelled.

        Returns:
            the fields of a StepResult but the tier, or ``problem`` if the step could not be started.

        Raises:
            EOFError: the host is gone.
        """
        started, cpu, kills = time.monotonic(), _children_cpu(), group.out_of_memory_kills(self._config["group"])
        _rewrite(self._script, code)
        watch = Watch(self._config, self._control, started + request["timeout"])
        seconds = math.ceil(request["timeout"]) * (os.cpu_count() or 1) + 10
        main, problem = start(
            self._config,
            lambda: Script(self._config, request["args"], code, request["seed"]),
            output=watch.writer,
            cpu_seconds=seconds,
        )
        children = _Children(main)
        try:
            if not problem:
                watch.wait({self._wake: lambda: children.reap(self._wake)}, lambda: children.status is not None)
        finally:
            self._end(children)
            output = watch.finish()
        if problem:
            return {"problem": problem}
        return {
            **end_status(watch.reason, children.status or 0, self._config["group"], kills),
            **output,
            "wall_s": time.monotonic() - started,
            "cpu_s": _children_cpu() - cpu,
            "peak_mib": children.peak_rss / MAX_RSS_PER_MIB,
        }

    def processes(self) -> list[int]:
        """Who runs between steps: nobody."""
        return []

    def unforkable(self) -> str:
        """Why what runs can't be forked: between scripts, nothing runs."""
        return ""

    def _end(self, children: _Children) -> None:
        """Kill and reap until no process is left."""
        while True:
            kill_all(isolated=self._config["tier"] in "AB")
            if not children.reap_one():
                break
        _drain(self._wake)


class Watch:
    """Waits for the end of a step while it takes in the output.

    Attributes:
        writer: the descriptor to print to, closed once it is waited for.
        reason: why the step is to be ended, if it does not end by itself: ``timeout``, ``output_limit``, ``killed``.
    """

    def __init__(self, config: dict[str, Any], control: int, deadline: float) -> None:
        """Watch until ``deadline``, or until the host cancels the step at descriptor ``control``."""
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._control = control
        self._deadline = deadline
        pairs = tuple((old.encode(), new.encode()) for old, new in config["replacements"])
        self._output = OutputBuffer(config["limits"]["output_bytes"], pairs)
        self.reason = ""

    def wait(self, others: dict[int, Callable[[], bool]], ended: Callable[[], bool]) -> None:
        """Return when the step has ``ended`` or there is a reason to end it.

        Args:
            others: other descriptors, and what to call when they are readable; False if never to be called again.
            ended: whether the step has ended.

        Raises:
            EOFError: the host is gone.
        """
        os.close(self.writer)
        sources = [self._control, self._reader, *others]
        while not ended() and not self.reason:
            left = self._deadline - time.monotonic()
            ready = select.select(sources, [], [], left)[0] if left > 0 else []
            if not ready:
                self.reason = "timeout"
            for source in ready:
                if source == self._control:
                    message, _ = wire.read_frame(self._control)
                    self.reason = "killed" if message["op"] == "cancel" else self.reason
                elif not (self._read_some() if source == self._reader else others[source]()):
                    sources.remove(source)

    def finish(self) -> dict[str, Any]:
        """Take what is still in the pipe, where threads that stay may print on and on; the output's fields."""
        with contextlib.suppress(BlockingIOError):
            while self._output.total_bytes <= _FLOOD and self._read():
                pass
        os.close(self._reader)
        head, tail = self._output.finish()
        return {"head": head, "tail": tail, "total_bytes": self._output.total_bytes}

    def _read_some(self) -> bool:
        """Take in what the pipe holds, maybe nothing: code can read its own output before us. False at its end."""
        with contextlib.suppress(BlockingIOError):
            return self._read()
        return True

    def _read(self) -> bool:
        data = os.read(self._reader, _CHUNK)
        self._output.add(data)
        if self._output.total_bytes > _FLOOD and not self.reason:
            self.reason = "output_limit"
        return bool(data)


class _Children:
    """The processes of the running step.

    Attributes:
        status: wait status of the main one, when it has ended.
        peak_rss: the largest resident size of one of them, in the system's unit.
    """

    def __init__(self, main: int) -> None:
        self.status: int | None = None
        self.peak_rss = 0
        self._main = main

    def reap(self, wake: int) -> bool:
        """Take leave of every child that has ended."""
        _drain(wake)
        while self._wait(os.WNOHANG):
            pass
        return True

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
        if pid == self._main:
            self.status = status
        return True


def wake_on_children() -> int:
    """A descriptor that is readable after a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.set_blocking(reader, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def end_status(reason: str, wait_status: int, joined: dict[str, Any], kills: int) -> dict[str, Any]:
    """How a process ended: the status, exit code and signal of a StepResult.

    Args:
        reason: why it was ended, if it did not end by itself.
        wait_status: what it ended with.
        joined: the control group.
        kills: how often the kernel had killed for want of memory before.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    end = {"exit_code": code if code >= 0 else None, "signal": -code if code < 0 else None}
    if reason:
        return {"status": reason, **end}
    if group.wanted_memory(joined, kills, code):
        return {"status": "oom", **end}
    if -code == signal.SIGKILL:
        return {"status": "killed", **end}
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
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
