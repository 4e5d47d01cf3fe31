"""Semaphores for ``multiprocessing`` where those with a name would be shared with everybody: in anonymous memory.

They pass to forked processes, though not to those that are started anew ("spawn").
"""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["SemLock"]

_RECURSIVE_MUTEX = 0
_SIZE = 32  # of a sem_t, on all 64-bit machines
_libc = ctypes.CDLL(None, use_errno=True)


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class SemLock:
    """What ``_multiprocessing.SemLock`` is: a semaphore, or a lock that its holder may take again."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        """Start at ``value`` of ``maxvalue``; there is no ``name`` to ``unlink``, and so nobody need remember to."""
        del name, unlink
        self.kind = kind
        self.maxvalue = maxvalue
        self.name = None
        self._memory = ctypes.c_char.from_buffer(mmap.mmap(-1, _SIZE))
        self.handle = ctypes.addressof(self._memory)
        self._held = 0
        self._holder = 0
        self._call(_libc.sem_init, 1, ctypes.c_uint(value))

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Take it; False if it could not be had in ``timeout`` seconds, or at once if not ``block``."""
        if self.kind == _RECURSIVE_MUTEX and self._is_mine():
            self._held += 1
            return True
        if not self._wait(0.0 if not block else timeout):
            return False
        self._held += 1
        self._holder = threading.get_ident()
        return True

    def release(self) -> None:
        """Give it back.

        Raises:
            AssertionError: a lock that is not this thread's.
            ValueError: it has been given back too often.
        """
        if self.kind == _RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._call(_libc.sem_post)
        self._held -= 1

    def __enter__(self) -> bool:
        """Take it."""
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self.release()

    def _wait(self, timeout: float | None) -> bool:
        if timeout is None:
            return self._try(_libc.sem_wait)
        if timeout <= 0:
            return self._try(_libc.sem_trywait)
        fraction, whole = math.modf(time.time() + timeout)
        return self._try(_libc.sem_timedwait, ctypes.byref(_Time(int(whole), int(fraction * 1e9))))

    def _try(self, function: ctypes._NamedFuncPointer, *arguments: object) -> bool:
        while function(ctypes.c_void_p(self.handle), *arguments):
            number = ctypes.get_errno()
            if number in (errno.EAGAIN, errno.ETIMEDOUT):
                return False
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number))
        return True

    def _call(self, function: ctypes._NamedFuncPointer, *arguments: object) -> None:
        self._try(function, *arguments)

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._holder == threading.get_ident()

    def _get_value(self) -> int:
        value = ctypes.c_int()
        self._call(_libc.sem_getvalue, ctypes.byref(value))
        return value.value

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _after_fork(self) -> None:
        self._held = 0
