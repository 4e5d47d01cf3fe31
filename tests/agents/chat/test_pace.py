"""The pace of an endpoint against a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.agents.chat import Pace, RateLimited, while_waiting
from sandmle.agents.chat._pace import MAX_PAUSE_S, asked_to_wait
from sandmle.agents.chat.openai import endpoint_model
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.graphs.clock import Clock

LIMIT = st.none() | st.floats(1, 1e6)


class Hand:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.time = 100.0
        self.sleeps = 0

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.sleeps += 1
        self.time += seconds
        await asyncio.sleep(0)


def paced(hand: Hand, requests: float | None = None, tokens: float | None = None) -> Pace:
    return Pace(requests, tokens, now=hand, sleep=hand.sleep)


async def departures(hand: Hand, pace: Pace, sizes: list[int]) -> list[float]:
    """When requests of these sizes leave that all come at once."""
    left: list[float] = []

    async def request(tokens: int) -> None:
        await pace.turn(tokens)
        left.append(hand.time)

    await asyncio.gather(*map(request, sizes))
    return left


async def test_by_hand() -> None:
    """30 requests a minute are one each 2 s; 600 tokens a minute are 40 tokens in 4 s."""
    hand = Hand()
    assert await departures(hand, paced(hand, requests=30), [1, 1, 1]) == [100, 102, 104]
    assert hand.sleeps == 2
    assert await departures(hand, paced(hand, tokens=600), [40, 10, 10]) == [104, 108, 109]
    assert await departures(hand, paced(hand, requests=30, tokens=600), [40, 10, 10]) == [109, 113, 115]
    assert await departures(hand, paced(hand), [10_000] * 3) == [115] * 3


@given(LIMIT, LIMIT, st.lists(st.integers(0, 100_000), max_size=8))
def test_no_request_leaves_too_early_or_later_than_it_must(
    requests: float | None, tokens: float | None, sizes: list[int]
) -> None:
    hand = Hand()
    left = asyncio.run(departures(hand, paced(hand, requests, tokens), sizes))
    due, expected = 100.0, []
    for size in sizes:
        expected.append(due)
        due += max(60 / requests if requests else 0, 60 * size / tokens if tokens else 0)
    assert left == pytest.approx(expected)


async def test_what_was_guessed_is_settled() -> None:
    hand = Hand()
    pace = paced(hand, tokens=600)
    await pace.turn(10)
    pace.settle(guessed=10, counted=50)  # 5 s in all
    await pace.turn(20)
    assert hand.time == 105
    pace.settle(guessed=20, counted=0)
    await pace.turn(20)
    assert hand.time == 105


async def test_a_pause_holds_up_who_is_waiting_already() -> None:
    hand = Hand()
    pace = paced(hand, requests=60)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        if not slept:
            pace.pause(30)
        slept.append(seconds)
        await hand.sleep(seconds)

    pace._sleep = sleep
    assert await departures(hand, pace, [1, 1, 1]) == [100, 130, 131]
    assert slept == [1, 29, 1]


@pytest.mark.parametrize("limits", [(0, None), (None, -1), (float("nan"), None)])
def test_a_limit_that_is_not_positive_is_refused(limits: tuple[float | None, float | None]) -> None:
    with pytest.raises(BadInput, match="per minute must be positive"):
        Pace(*limits)


async def test_each_request_of_the_client_counts_repeated_ones_too(endpoint, completion) -> None:
    hand = Hand()
    endpoint.answers = [(429, "{}"), (503, "{}"), completion("hi")]
    model = endpoint_model("m", base_url=endpoint.url, pace=paced(hand, requests=6))
    assert (await model.ainvoke("hello")).text == "hi"
    assert hand.time == 120


async def test_the_tokens_that_the_endpoint_counts_are_charged(endpoint, completion) -> None:
    hand = Hand()
    endpoint.answers = [completion("hi")]  # 107 tokens
    model = endpoint_model("m", base_url=endpoint.url, pace=paced(hand, tokens=1))
    await model.ainvoke("hello")
    await model.ainvoke("hello")
    assert hand.time == pytest.approx(100 + 60 * 107)


@pytest.mark.parametrize(("headers", "seconds"), [({"retry-after": "45"}, 45), ({"retry-after-ms": "2500"}, 2.5)])
async def test_retry_after_holds_up_every_model_of_the_endpoint(endpoint, completion, headers, seconds) -> None:
    hand = Hand()
    pace = paced(hand)
    one, other = (endpoint_model(name, base_url=endpoint.url, pace=pace, max_retries=0) for name in "ab")
    endpoint.answers = [(429, "{}", headers), completion("hi")]
    with pytest.raises(RateLimited):
        await one.ainvoke("hello")
    assert (await other.ainvoke("hello")).text == "hi"
    assert hand.time == 100 + seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "7", "retry-after-ms": "50"}, 0.05),
        ({"retry-after": formatdate(4_102_444_800, usegmt=True)}, pytest.approx(4_102_444_800 - time.time(), rel=1e-3)),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
    ],
)
def test_how_long_an_answer_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_to_wait(headers) == seconds


async def test_an_endpoint_that_wants_hours_ends_the_run(endpoint) -> None:
    hand = Hand()
    model = endpoint_model("m", base_url=endpoint.url, pace=paced(hand), max_retries=0)
    endpoint.answers = [(429, json.dumps({"error": {"message": "tomorrow"}}), {"retry-after": "86400"})]
    with pytest.raises(EnvironmentProblem, match=r"asks to wait 86400 s; run the same command again"):
        await model.ainvoke("hello")
    await paced(hand).turn(1)
    assert hand.time <= 100 + MAX_PAUSE_S


async def test_who_asks_learns_of_waiting() -> None:
    hand = Hand()
    pace, waits = paced(hand, requests=60), []

    @contextmanager
    def around() -> Iterator[None]:
        began = hand.time
        yield
        waits.append(hand.time - began)

    with while_waiting(around):
        await pace.turn(1)
        await pace.turn(1)
    await pace.turn(1)
    assert waits == [0, 1]


async def test_the_clock_of_an_episode_stands_still_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", hand)
    clock, pace = Clock(hand), paced(hand, requests=1)
    async with clock.within(10):
        await pace.turn(1)
        hand.time += 3
        await pace.turn(1)  # 57 s later
        await asyncio.gather(pace.turn(1))  # in a task of its own, as LangChain calls a model
        hand.time += 6
        await asyncio.sleep(0)
    assert hand.time == 100 + 120 + 6
    assert clock.seconds == pytest.approx(9)


async def test_its_limit_holds_when_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", hand)
    clock = Clock(hand)

    async def work() -> None:
        async with clock.within(10):
            await paced(hand).turn(1)
            hand.time += 11
            for _ in range(3):
                await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        await work()
