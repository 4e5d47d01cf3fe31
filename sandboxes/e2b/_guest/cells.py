# ruff: noqa: TID251
"""A step that is a cell, from the outside: hands it to the kernel and ends what must be ended.

Three named pipes join them: ``request`` carries the cell to the kernel, ``output`` what it prints, ``end`` first which
process is the kernel, then how the cell ended. They are opened anew for every cell, so that a kernel between cells
holds nothing but variables.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys

from . import CELLS, PROGRAM, people
from .scripts import kills_for_memory
from .watching import Watch, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

__all__ = ["PIPES", "run_cell"]

PIPES = ("request", "output", "end")
_KERNEL = (
    f"import json, sys; sys.path.insert(0, {PROGRAM!r}); from sandboxes.e2b._guest.kernel import serve;"
    " serve(sys.argv[1], json.loads(sys.argv[2]))"
)
_PATIENCE_S = 30
"""For the kernel to take a cell, and to tell the end of one that was killed: it does nothing else."""


def run_cell(config: dict[str, Any], request: dict[str, Any], cancelled: int) -> dict[str, Any]:
    """Run the request's ``code`` for at most ``timeout`` seconds.

    Args:
        config: what ``setup`` was given.
        request: see above; ``cell`` is the cell's number, ``diverge`` what tells this fork's random streams
            apart, ``seed`` what they start from, if not None.
        cancelled: a descriptor that is readable once the cell is to be ended.

    Returns:
        the fields of a StepResult but the tier, or ``problem``.
    """
    if not people.processes():
        _start_kernel(config)
    output, end = (os.open(f"{CELLS}/{name}", os.O_RDONLY | os.O_NONBLOCK) for name in PIPES[1:])
    if not _hand_over(request):
        people.kill_all()
        return {"problem": "the interpreter of the cells does not answer"}
    kills = kills_for_memory()
    watch = Watch(output, cancelled, request["timeout"], config["limits"]["output_bytes"])
    cell = _Cell(end)
    while not cell.told and not watch.reason:
        cell.listen(watch.wait(*cell.sources))
    state = cell.settle(killed=bool(watch.reason))
    usage = {"cpu_s": cell.told.get("cpu_s", 0.0), "peak_mib": cell.told.get("peak_mib", 0.0)}
    code = cell.told.get("code", -signal.SIGKILL)
    return {**verdict(code, watch.reason, kills_for_memory() > kills), **watch.finish(), **usage, "state": state}


class _Cell:
    """What is known of a running cell.

    Attributes:
        told: how the cell ended, as the kernel tells it; empty until then.
        sources: descriptors that have something to say about it.
    """

    def __init__(self, end: int) -> None:
        self.told: dict[str, Any] = {}
        self.sources = [end]
        self._kernel = 0
        self._forked = False
        self._heard = b""

    def listen(self, ready: set[int]) -> None:
        """Take in what the kernel tells; one that has gone without a word has lost all."""
        if not ready:
            return
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self.sources[0], 1 << 16)
        self._heard += data
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        if not data and not self.told:
            self.told = {"lost": True}

    def settle(self, *, killed: bool) -> str:
        """End all processes but the one that goes on with the variables.

        Returns:
            what became of them.
        """
        if killed and self._forked:
            people.kill_all(but=self._kernel)
            while not self.told and (ready := select.select(self.sources, [], [], _PATIENCE_S)[0]):
                self.listen(set(ready))
        heir = 0 if killed and not self._forked else self.told.get("heir", 0)
        people.kill_all(but=heir)
        if not heir or heir not in people.processes():
            return "lost"
        return "rolled_back" if heir == self._kernel and self._forked else "kept"

    def _take(self, message: dict[str, Any]) -> None:
        if "kernel" not in message:
            self.told = message
            return
        self._kernel, self._forked = message["kernel"], message["forked"]
        with contextlib.suppress(ProcessLookupError):
            self.sources.append(os.pidfd_open(self._kernel))


def _hand_over(request: dict[str, Any]) -> bool:
    """Write the cell to the kernel; False if nobody reads."""

    def give_up(_: int, __: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE_S)
    try:
        with open(f"{CELLS}/request", "wb") as stream:  # noqa: PTH123
            stream.write(json.dumps({name: request[name] for name in ("code", "cell", "diverge", "seed")}).encode())
    except (TimeoutError, BrokenPipeError):
        return False
    finally:
        signal.alarm(0)
    return True


def _start_kernel(config: dict[str, Any]) -> None:
    if os.fork():
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        people.limit(config)
        people.become()
        os.chdir(config["workspace"])
        environment = {name: value for name, value in config["env"].items() if name != "PYTHONPATH"}
        os.execve(sys.executable, [sys.executable, "-P", "-c", _KERNEL, CELLS, json.dumps(config["env"])], environment)
    finally:
        os._exit(127)
