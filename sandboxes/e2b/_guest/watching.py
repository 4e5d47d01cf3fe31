# ruff: noqa: TID251, TID252
"""Follows a step to its end: reads what it prints, minds the deadline, the flood and the host's wish to stop."""

from __future__ import annotations

import os
import select
import signal
import time

from ..._guest.output import OutputBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Watch", "listen_for_cancelling", "verdict"]

_FLOOD = 64 << 20
_CHUNK = 1 << 18


def listen_for_cancelling() -> int:
    """Take SIGTERM as the wish to cancel this request.

    Returns:
        a descriptor that is readable once it has come.
    """
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    return heard


class Watch:
    """One step as it is watched.

    Attributes:
        reason: why it had to be ended: ``timeout``, ``output_limit``, ``killed``; empty while there is no reason.
    """

    def __init__(self, output: int, cancelled: int, timeout: float, limit: int) -> None:
        """Read ``output`` and heed ``cancelled`` (descriptors) for ``timeout`` seconds, and keep ``limit`` bytes."""
        self.reason = ""
        self._output = output
        self._cancelled = cancelled
        self._started = time.monotonic()
        self._deadline = self._started + timeout
        self._buffer = OutputBuffer(limit)
        self._open = True
        os.set_blocking(output, False)

    def wait(self, *ends: int) -> set[int]:
        """Wait until one of the descriptors ``ends`` has something to say, or there is a reason to end the step.

        Returns:
            those of ``ends`` that have; empty if there is a reason.
        """
        while not self.reason:
            sources = [self._cancelled, *ends, *([self._output] if self._open else [])]
            left = self._deadline - time.monotonic()
            ready = select.select(sources, [], [], left)[0] if left > 0 else []
            if not ready:
                self.reason = "timeout"
            elif self._cancelled in ready:
                self.reason = "killed"
            elif self._output in ready:
                self._open = self._read()
            if not self.reason and (found := set(ready) & set(ends)):
                return found
        return set()

    def finish(self) -> dict[str, Any]:
        """Take what is left of the output.

        Returns:
            the fields of a StepResult that tell the output and the wall time.
        """
        while self._read():
            pass
        head, tail = self._buffer.finish()
        wall = time.monotonic() - self._started
        return {"head": head, "tail": tail, "total_bytes": self._buffer.total_bytes, "wall_s": wall}

    def _read(self) -> bool:
        """Take in what is there; False at the end and where nothing is."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._buffer.add(data)
        if self._buffer.total_bytes > _FLOOD and not self.reason:
            self.reason = "output_limit"
        return bool(data)


def verdict(code: int, reason: str, out_of_memory: bool) -> dict[str, Any]:
    """The fields of a StepResult that tell how the step ended.

    Args:
        code: exit code, or minus the signal.
        reason: why it had to be ended, if it had.
        out_of_memory: whether the kernel killed for want of memory meanwhile.
    """
    if reason:
        status = reason
    elif code == -signal.SIGKILL:
        status = "oom" if out_of_memory else "killed"
    elif code == -signal.SIGXCPU:
        status = "timeout"
    else:
        status = "error" if code else "ok"
    return {"status": status, "exit_code": code if code >= 0 else None, "signal": -code if code < 0 else None}
