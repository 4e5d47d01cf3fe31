"""All places of a backend: made when they are needed, given back when they are empty, handed to whoever waits.

A sandbox asks for a place of its size. If none is empty, one more is hired, and whichever is there first is taken: the
new one, or one that became empty. Empty places of other sizes are dismissed where somebody waits, for they hold what
the wanted one needs. Nothing here knows Ray; several threads and event loops may use it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sandmle.errors import EnvironmentProblem, InfraError, SandmleError
from sandmle.sandboxes.ray._place import Arrival

__all__ = ["HiredPlace", "Places"]


@dataclass(eq=False)
class HiredPlace:
    """A place as its user knows it.

    Attributes:
        cpus: its size.
        actor: the handle of its actor.
        fresh: nobody has had it yet.
    """

    cpus: int
    actor: Any
    fresh: bool = True


@dataclass(eq=False)
class _Waiter:
    cpus: int
    place: Future[HiredPlace] = field(default_factory=Future)


class Places:
    """See the module's text."""

    def __init__(self, hire: Callable[[int], tuple[Any, Future[Arrival]]], dismiss: Callable[[Any], None]) -> None:
        """Use ``hire`` to start an actor of so many cores, and ``dismiss`` to end one."""
        self._hire_actor = hire
        self._dismiss_actor = dismiss
        self._lock = threading.RLock()
        self._all: set[HiredPlace] = set()
        self._empty: list[HiredPlace] = []
        self._coming: Counter[int] = Counter()
        self._waiters: list[_Waiter] = []
        self._first: Arrival | None = None

    @property
    def first(self) -> Arrival:
        """What the first place told when it had arrived; all others offer the same tier."""
        assert self._first is not None
        return self._first

    async def take(self, cpus: int) -> HiredPlace:
        """An empty place of ``cpus`` cores, as soon as there is one.

        Raises:
            InfraError: it could not be started, or the backend was closed.
            EnvironmentProblem: it can't be used.
        """
        asked = self.ask(cpus)
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            if not asked.cancelled():  # it had just come
                asked.add_done_callback(self._give_back_unused)
            raise

    def ask(self, cpus: int) -> Future[HiredPlace]:
        """The same for callers without an event loop."""
        waiter = _Waiter(cpus)
        with self._lock:
            self._waiters.append(waiter)
            for place in self._empty[:]:
                self._empty.remove(place)
                self._offer(place)
            if waiter in self._waiters and self._coming[cpus] < sum(one.cpus == cpus for one in self._waiters):
                self._hire(cpus)
        return waiter.place

    def give_back(self, place: HiredPlace) -> None:
        """Say that a place is empty."""
        with self._lock:
            if place in self._all:
                place.fresh = False
                self._offer(place)

    def dismiss(self, place: HiredPlace) -> None:
        """End a place; also one that is lost."""
        with self._lock:
            if place in self._all:
                self._all.remove(place)
                self._dismiss_actor(place.actor)

    @property
    def awaited(self) -> set[int]:
        """Sizes of the places that somebody waits for."""
        with self._lock:
            return {waiter.cpus for waiter in self._waiters}

    def disappoint(self, cpus: int, problem: SandmleError) -> None:
        """Raise ``problem`` where somebody waits for a place of this size."""
        with self._lock:
            while waiter := self._next_waiter(cpus):
                waiter.place.set_exception(problem)

    def close(self) -> None:
        """Dismiss all places; asking for one starts anew."""
        with self._lock:
            self._empty.clear()
            for place in list(self._all):
                self.dismiss(place)
            for cpus in self.awaited:
                self.disappoint(cpus, InfraError("the sandboxes' backend was closed"))

    def _give_back_unused(self, asked: Future[HiredPlace]) -> None:
        if asked.exception() is None:
            self.give_back(asked.result())

    def _hire(self, cpus: int) -> None:
        actor, arrival = self._hire_actor(cpus)
        place = HiredPlace(cpus, actor)
        self._all.add(place)
        self._coming[cpus] += 1
        arrival.add_done_callback(lambda done: self._arrive(place, done))

    def _arrive(self, place: HiredPlace, arrival: Future[Arrival]) -> None:
        """Offer a place that is ready, or tell somebody that it could not be made ready."""
        with self._lock:
            self._coming[place.cpus] -= 1
            if place not in self._all:
                return
            problem = arrival.exception() or self._objection(arrival.result())
            if problem is None:
                self._offer(place)
                return
            self.dismiss(place)
            waiter = self._next_waiter(place.cpus)
        if waiter is not None:
            waiter.place.set_exception(problem)

    def _objection(self, arrived: Arrival) -> EnvironmentProblem | None:
        """Why a place can't stand beside the first one: a run states one tier."""
        self._first = first = self._first or arrived
        tier, usual = arrived.capabilities.tier, first.capabilities.tier
        if tier == usual:
            return None
        return EnvironmentProblem(
            f"Ray's node {arrived.node} offers tier {tier} ({arrived.capabilities.detail}), but {first.node} tier"
            f" {usual}: use nodes that shut code in alike"
        )

    def _offer(self, place: HiredPlace) -> None:
        """Hand an empty place to who has waited longest; where only others wait, let them have what it holds."""
        waiter = self._next_waiter(place.cpus)
        if waiter is not None:
            waiter.place.set_result(place)
        elif self._waiters:
            self.dismiss(place)
        else:
            self._empty.append(place)

    def _next_waiter(self, cpus: int) -> _Waiter | None:
        """The first waiter for such a place, who is promised an answer; those who have given up are forgotten."""
        self._waiters = [one for one in self._waiters if not one.place.cancelled()]
        for waiter in self._waiters:
            if waiter.cpus == cpus and waiter.place.set_running_or_notify_cancel():
                self._waiters.remove(waiter)
                return waiter
        return None
