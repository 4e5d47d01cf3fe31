"""Who gets which place when; actors are names here, and arrive when the test says so."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from sandmle.errors import EnvironmentProblem, InfraError
from sandmle.sandboxes import Capabilities
from sandmle.sandboxes.ray._place import Arrival
from sandmle.sandboxes.ray._places import HiredPlace, Places


class Agency:
    def __init__(self) -> None:
        self.hired: list[tuple[int, Future[Arrival]]] = []
        self.dismissed: list[int] = []
        self.places = Places(self.hire, self.dismissed.append)

    def hire(self, cpus: int) -> tuple[int, Future[Arrival]]:
        self.hired.append((cpus, Future()))
        return len(self.hired) - 1, self.hired[-1][1]

    def arrive(self, actor: int, tier: str = "A") -> None:
        found = Capabilities.model_validate({"tier": tier, "detail": "as it is"})
        self.hired[actor][1].set_result(Arrival(node=f"node-{actor}", capabilities=found))


@pytest.fixture
def agency() -> Agency:
    return Agency()


def taken(asked: Future[HiredPlace]) -> int:
    return asked.result(timeout=0).actor


def test_an_empty_place_is_taken_again(agency: Agency):
    first = agency.places.ask(1)
    agency.arrive(0)
    assert taken(first) == 0
    agency.places.give_back(first.result())
    again = agency.places.ask(1)
    assert taken(again) == 0
    assert len(agency.hired) == 1
    assert not again.result().fresh


def test_who_waits_gets_whichever_place_is_there_first(agency: Agency):
    one, two = agency.places.ask(1), agency.places.ask(1)
    agency.arrive(1)
    assert taken(one) == 1
    agency.places.give_back(one.result())
    assert taken(two) == 1
    agency.arrive(0)
    assert taken(agency.places.ask(1)) == 0
    assert len(agency.hired) == 2


def test_empty_places_make_room_for_other_sizes(agency: Agency):
    small = agency.places.ask(1)
    agency.arrive(0)
    large = agency.places.ask(2)
    assert agency.dismissed == []
    agency.places.give_back(small.result())
    assert agency.dismissed == [0]
    agency.arrive(1)
    assert taken(large) == 1
    agency.places.give_back(large.result())
    agency.places.ask(1)
    assert agency.dismissed == [0, 1]


def test_who_gave_up_is_passed_over(agency: Agency):
    one, two = agency.places.ask(1), agency.places.ask(1)
    one.cancel()
    agency.arrive(0)
    assert taken(two) == 0


async def test_a_place_that_comes_while_its_taker_is_cancelled_is_kept(agency: Agency):
    taking = asyncio.create_task(agency.places.take(1))
    await asyncio.sleep(0)
    agency.arrive(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert taken(agency.places.ask(1)) == 0


def test_one_that_can_not_be_started(agency: Agency):
    asked = agency.places.ask(1)
    agency.hired[0][1].set_exception(InfraError("no such module"))
    with pytest.raises(InfraError, match="no such module"):
        asked.result(timeout=0)
    assert agency.dismissed == [0]


def test_all_places_shut_code_in_alike(agency: Agency):
    one, two = agency.places.ask(1), agency.places.ask(1)
    agency.arrive(0, "A")
    agency.arrive(1, "C")
    assert taken(one) == 0
    with pytest.raises(EnvironmentProblem, match=r"node-1 offers tier C .*, but node-0 tier A"):
        two.result(timeout=0)
    assert agency.dismissed == [1]


def test_those_who_wait_in_vain_are_told(agency: Agency):
    small, large = agency.places.ask(1), agency.places.ask(4)
    assert agency.places.awaited == {1, 4}
    agency.places.disappoint(4, EnvironmentProblem("no node has 4 CPU"))
    with pytest.raises(EnvironmentProblem, match="4 CPU"):
        large.result(timeout=0)
    agency.arrive(0)
    assert taken(small) == 0


def test_closing_ends_all_and_the_next_begins_anew(agency: Agency):
    used, waits = agency.places.ask(1), agency.places.ask(1)
    agency.arrive(0)
    agency.places.close()
    assert sorted(agency.dismissed) == [0, 1]
    with pytest.raises(InfraError, match="closed"):
        waits.result(timeout=0)
    agency.places.give_back(used.result())
    agency.arrive(1)
    asked = agency.places.ask(1)
    assert not asked.done()
    agency.arrive(2)
    assert taken(asked) == 2
