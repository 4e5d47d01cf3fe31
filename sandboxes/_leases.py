"""Shares things of the machine, such as its cores and GPUs, among sandboxes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

__all__ = ["Leases", "machine_cores"]

T = TypeVar("T", int, str)


class Leases(Generic[T]):
    """Hands out the things that the fewest others hold; the same one to several once there are more takers than things.

    May be used from several threads.
    """

    def __init__(self, things: Iterable[T]) -> None:
        """Share ``things``; of equally used ones the first is taken first."""
        self._holders: dict[T, int] = dict.fromkeys(things, 0)
        self._lock = threading.Lock()

    def take(self, count: int) -> tuple[T, ...]:
        """Lease ``count`` different things, or all where there are fewer."""
        with self._lock:
            taken = sorted(self._holders, key=self._holders.__getitem__)[:count]
            for thing in taken:
                self._holders[thing] += 1
        return tuple(taken)

    def give_back(self, taken: Iterable[T]) -> None:
        """End a lease."""
        with self._lock:
            for thing in taken:
                self._holders[thing] -= 1


def machine_cores() -> list[int]:
    """The cores that this process may use; each process starts elsewhere, so that several do not crowd on the first."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cores)
    return cores[first:] + cores[:first]
