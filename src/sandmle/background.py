"""Async work for callers that are not async: it runs in a loop of its own, also where a loop is running (Jupyter)."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, suppress
from functools import wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar

__all__ = ["as_iterator", "blocking", "iterate", "run"]

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")


def blocking(function: Callable[P, Coroutine[Any, Any, T]], doc: str) -> Callable[P, T]:
    """``function`` for callers that are not async, by its name without the ``a`` in front."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        return run(function(*args, **options))

    return _renamed(call, doc)


def as_iterator(function: Callable[P, AsyncGenerator[T, None]], doc: str) -> Callable[P, Iterator[T]]:
    """``function`` as one whose result is a plain iterator, by its name without the ``a`` in front."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> Iterator[T]:
        return iterate(function(*args, **options))

    return _renamed(call, doc)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with _Background(work) as background:
        return background.result()


def iterate(source: AsyncGenerator[T, None]) -> Iterator[T]:
    """An async generator as a plain one; it is asked for the next item only when the caller asks."""
    items: queue.SimpleQueue[tuple[T] | None] = queue.SimpleQueue()
    asked = asyncio.Semaphore(0)

    async def feed() -> None:
        try:
            async with aclosing(source):
                async for item in source:
                    items.put((item,))
                    await asked.acquire()
        finally:
            items.put(None)

    with _Background(feed()) as background:
        while (item := items.get()) is not None:
            yield item[0]
            background.loop.call_soon_threadsafe(asked.release)
        background.result()


def _renamed(call: F, doc: str) -> F:
    call.__name__ = call.__qualname__ = call.__name__.removeprefix("a")
    call.__doc__ = doc
    return call


class _Background(Generic[T]):
    """A coroutine in an event loop and a thread of its own; leaving early cancels it and waits until it has ended."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.loop = asyncio.new_event_loop()
        self._task = self.loop.create_task(work)
        self._thread = threading.Thread(target=self._serve, name="sandmle", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: it has ended
            self.loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def result(self) -> T:
        """Wait for what the coroutine returns, or raise what it raised."""
        self._thread.join()
        return self._task.result()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(asyncio.wait([self._task]))
