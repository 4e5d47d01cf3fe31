# ruff: noqa: PTH109, PTH110, PTH120, PTH208, TID251
"""A process of a step: a fork that has to look as if ``python -P /tmp/step.py ARGUMENTS`` had just been started.

It begins as a fork of the init, deep in the init's frames, which must be seen in no traceback. So it leaves them, by
raising ``Become``, and the code is run by what the zygote's interpreter was fed (see ``MAIN``), right at its top level.
At the end the process does what Python does at its end, in the same order, up to the freeing of the libraries.
"""

from __future__ import annotations

import atexit
import gc
import importlib.machinery
import io
import itertools
import os
import signal
import sys
import threading
import time
import types
from abc import ABC, abstractmethod

from . import alone, warm
from .streams import begin, begin_anew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["MAIN", "Become", "Program", "Script", "report"]

MAIN = """
import sys
sys.path.insert(0, {folder!r})
from _guest.zygote import serve
sys.path.remove({folder!r})
program = serve({control}, {host}, {image!r})
for code in program.parts():
    try:
        exec(code, program.names)
    except BaseException as error:
        program.end = error
program.finish()
"""
"""What the zygote's interpreter is fed; all of it below ``serve`` happens in the processes of steps alone."""

_FLUSH_FAILED = 120
_WRITERS = (io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
_PACKAGE = __name__.partition(".")[0]
_OWN_MODULES = (_PACKAGE, *(f"{_PACKAGE}.{name[:-3]}" for name in os.listdir(os.path.dirname(__file__))))
"""What code must not find in ``sys.modules``; listed, since a walk over all modules would copy their names' pages."""


class Become(BaseException):
    """Leaves all frames of the init."""

    def __init__(self, program: Program) -> None:
        """Go on as ``program``."""
        self.program = program


class Program(ABC):
    """What a process of a step runs.

    Attributes:
        names: the namespace of its ``__main__``.
        end: what the part that was run last ended with, if with an exception.
    """

    def __init__(self, config: dict[str, Any], path: str, args: list[str], seed: str | None = None) -> None:
        """Make this process, already confined and in its working folder, that of a Python just started."""
        self.end: BaseException | None = None
        _take_environment(config["env"])
        _take_signals()
        begin_anew() if seed is None else begin(seed)
        if config["tier"] == "C":
            alone.stand_in()
        if config["limits"]["cpus"] > 1:
            warm.set_threads(config["limits"]["cpus"])
        sys.argv = [path, *args]
        sys.orig_argv = [sys.executable, "-P", *sys.argv]
        searched = [path for path in config["env"].get("PYTHONPATH", "").split(os.pathsep) if path]
        sys.path[:] = searched + [path for path in sys.path if path.endswith(".zip") or os.path.exists(path)]
        self.names = _fresh_main(path)

    @abstractmethod
    def parts(self) -> Iterator[types.CodeType]:
        """The code to run; each part after the one before has ended."""

    @abstractmethod
    def finish(self) -> None:
        """End the process; does not return."""


class Script(Program):
    """One script."""

    def __init__(self, config: dict[str, Any], args: list[str], source: bytes, seed: str | None) -> None:
        """Make this process that of a Python just started with the script."""
        super().__init__(config, config["script"], args, seed)
        self._path: str = config["script"]
        self._source = source
        self._loaded = len(sys.modules)

    def parts(self) -> Iterator[types.CodeType]:
        """The script."""
        try:
            code = compile(self._source, self._path, "exec", dont_inherit=True)
        except Exception as error:  # noqa: BLE001 - shown as Python shows it
            self.end = error
        else:
            yield code

    def finish(self) -> None:
        """Report the script's end as Python does, tidy up as Python does, and end the process; does not return."""
        error, self.end = self.end, None
        status = report(error)
        del error
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        flushed = _flush_standard_streams()
        self._drop_objects()
        flushed = _flush_standard_streams() and flushed
        if status == -signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(status & 0xFF if flushed else _FLUSH_FAILED)

    def _drop_objects(self) -> None:
        """Free what the script made, which runs finalizers and writes out files that it left open."""
        sys.excepthook, sys.last_type, sys.last_value, sys.last_traceback = sys.__excepthook__, None, None, None
        threading.excepthook = lambda _: None  # Python stops daemon threads here; ours lose their names instead
        _clear(self.names)
        for left in gc.get_objects():
            if issubclass(type(left), _WRITERS):
                _flush(left)
        newest_first = itertools.islice(reversed(sys.modules), max(0, len(sys.modules) - self._loaded))
        for name in ("__main__", *newest_first):
            sys.modules.pop(name, None)
        gc.collect()


def _clear(names: dict[str, Any]) -> None:
    """Empty a module's namespace as CPython's ``_PyModule_ClearDict`` does: private names first."""
    for private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (not private or (name[:1] == "_" and name[1:2] != "_")):
                names[name] = None


def _take_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"]
        vars(process)["ORIGINAL_DIR"] = os.getcwd()
        process.current_process().authkey = os.urandom(32)


def _take_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _fresh_main(path: str) -> dict[str, Any]:
    for name in _OWN_MODULES:
        sys.modules.pop(name, None)
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __annotations__={},
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        __builtins__=sys.modules["builtins"],
        __file__=path,
        __cached__=None,
    )
    sys.modules["__main__"] = main
    return main.__dict__


def report(error: BaseException | None) -> int:
    """Print what Python prints about the exception that ended a script.

    Returns:
        the exit status; that of an interrupt is minus its signal.
    """
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return _leave(error)
    outermost = error.__traceback__
    error = error.with_traceback(outermost.tb_next if outermost else None)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as other:
        return _leave(other)
    except BaseException as other:  # noqa: BLE001 - the hook is the script's
        print("Error in sys.excepthook:", file=sys.stderr)
        inner = other.__traceback__
        sys.__excepthook__(type(other), other.with_traceback(inner.tb_next if inner else None), None)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def _leave(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _flush_standard_streams() -> bool:
    """Flush what the script has as its output; False if its stdout refuses."""
    _flush(sys.stderr)
    return _flush(sys.stdout)


def _flush(stream: Any) -> bool:  # noqa: ANN401 - the script may have put anything there
    try:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    except Exception:  # noqa: BLE001 - the stream is the script's
        return False
    return True
