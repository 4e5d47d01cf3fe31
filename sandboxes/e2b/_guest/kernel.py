# ruff: noqa: PTH123, PTH208, TID251, TID252
"""The cells from the inside: an interpreter of code's user that keeps the variables.

Before each cell it forks. The child runs the cell and, if that ends by itself, takes the kernel's place, and the old
kernel goes. If the cell is killed, the old kernel, which has done nothing meanwhile, still has the variables of before.
Threads do not survive a fork: while any but the main one is there, cells run in the kernel itself, and one that is
killed takes all variables with it.
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
import sys
import traceback
import types

from ..._guest.streams import begin, diverge, fork
from ..._guest.warm import pause_openmp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["serve"]


def serve(folder: str, environment: dict[str, str]) -> None:
    """Run the cells that come through ``folder``; returns never."""
    for name in [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]
    os.environ.update(environment)
    sys.path[:1] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = [""]
    names = _fresh_main()
    while True:
        with open(f"{folder}/request", "rb") as stream:
            text = stream.read()
        if text:
            _take(folder, json.loads(text), names)


def _take(folder: str, request: dict[str, Any], names: dict[str, Any]) -> None:
    output = os.open(f"{folder}/output", os.O_WRONLY)
    end = os.open(f"{folder}/end", os.O_WRONLY)
    pause_openmp()
    forked = len(os.listdir("/proc/self/task")) == 1
    _tell(end, {"kernel": os.getpid(), "forked": forked})
    if not forked or _fork_survives(end, output):
        for index in request["diverge"]:
            diverge(index)
        if request["seed"] is not None:
            begin(request["seed"])
        _run(request, names, output, end)


def _fork_survives(end: int, output: int) -> bool:
    """Fork.

    Returns:
        True in the child, which is to run the cell; False in the kernel, if the child was killed. Otherwise the kernel
        ends here.
    """
    kernel = os.getpid()
    told, tell = os.pipe()
    child = fork()
    if child == 0:
        os.close(told)
        _heirs.append(tell)
        return True
    os.close(tell)
    ended = os.pidfd_open(child)
    select.select([told, ended], [], [])
    os.set_blocking(told, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(told, 1):
            os._exit(0)
    code, peak, cpu = -signal.SIGKILL, 0.0, 0.0
    with contextlib.suppress(ChildProcessError):  # code may have its children ignored
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        peak, cpu = usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime
    _tell(end, {"heir": kernel, "code": code, "cpu_s": cpu, "peak_mib": peak})
    for fd in (told, ended, end, output):
        os.close(fd)
    return False


_heirs: list[int] = []
"""In a child: the descriptor that ends the old kernel."""


def _run(request: dict[str, Any], names: dict[str, Any], output: int, end: int) -> None:
    """Run a cell in this process and tell how it ended."""
    before, runner = _cpu(), os.getpid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    code = _execute(request["code"], f"<cell {request['cell']}>", names)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the stream is the code's
            stream.flush()
    if os.getpid() != runner:  # a process that the cell forked and that came to the cell's end
        os._exit(code)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.close(nothing)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _tell(end, {"heir": os.getpid(), "code": code, "cpu_s": _cpu() - before, "peak_mib": peak})
    os.close(end)
    while _heirs:
        tell = _heirs.pop()
        with contextlib.suppress(BrokenPipeError):  # the old kernel may have been ended already
            os.write(tell, b"1")
        os.close(tell)


def _execute(source: str, name: str, names: dict[str, Any]) -> int:
    """Run a cell, show its value or its error.

    Returns:
        the exit code that a script would have had.
    """
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    try:
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), names)
        if isinstance(last, ast.Expr):
            sys.displayhook(eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names))
    except SystemExit as error:
        return _leave(error)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the code's
        _show(error)
        return 1
    return 0


def _leave(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """Print the traceback without the frames of ours at its start."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(error)
        else:
            sys.excepthook(type(error), error, trace)
    except Exception:  # noqa: BLE001 - the hook, and the error's own text, are the code's
        os.write(2, f"{type(error).__name__} (its traceback could not be printed)\n".encode())


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _tell(end: int, message: dict[str, Any]) -> None:
    os.write(end, json.dumps(message).encode() + b"\n")


def _fresh_main() -> dict[str, Any]:
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main
    return main.__dict__
