"""Numbers that do not move with threads: BLAS and OpenMP work with one thread while a probe runs.

The order of sums, and so their last bits, hangs on how many threads share the work, and a permutation test or a nearly
singular fit can make much of a bit. Candidates are judged in several threads of one process, and scikit-learn changes
the number of BLAS threads for the whole process while it works, so that the same probe could say two things.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import threadpoolctl  # type: ignore[import-untyped]

__all__ = ["one_thread"]

P = ParamSpec("P")
T = TypeVar("T")
_lock = threading.Lock()
_inside = 0
_blas: Any = None


def one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function with one thread of BLAS and OpenMP, whatever runs in other threads of the process."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with _single_blas(), _libraries().select(user_api="openmp").limit(limits=1):
            return function(*args, **kwargs)

    return run


@contextmanager
def _single_blas() -> Iterator[None]:
    """One BLAS thread in the whole process until the last who asked for it is done: its number is the process's own."""
    global _inside, _blas
    with _lock:
        if _inside == 0:
            _take_control()
            _blas = _libraries().select(user_api="blas").limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _blas.restore_original_limits()
                _take_control()


def _take_control() -> None:
    """Let this thread set the number: since version 3.8 only one thread may, and others are ignored."""
    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@cache
def _libraries() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    """The thread pools of all libraries that are loaded; scikit-learn, which brings OpenMP, is by now."""
    import sklearn.ensemble  # noqa: F401 - loads it

    return threadpoolctl.ThreadpoolController()
