"""A family and its place, whose actor fails as the test says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes.ray import _sandbox
from sandmle.sandboxes.ray._calls import LostPlace
from sandmle.sandboxes.ray._sandbox import Family, RaySandbox


class Actor:
    """Each method may be called; what ``failing`` names raises."""

    def __init__(self) -> None:
        self.failing: dict[str, Exception] = {}

    def __getattr__(self, method: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *_: self.failing.get(method))


@pytest.fixture
def actor(monkeypatch: pytest.MonkeyPatch) -> Actor:
    async def answer(call: Exception | None) -> None:
        if call is not None:
            raise call

    monkeypatch.setattr(_sandbox, "answer", answer)
    return Actor()


@pytest.fixture
def left() -> list[bool]:
    """Of each place that was left: whether it counts as lost."""
    return []


@pytest.fixture
def family(actor: Actor, left: list[bool]) -> Family:
    async def leave(_: object, lost: bool) -> None:
        left.append(lost)

    return Family(SimpleNamespace(actor=actor), leave)


async def test_a_place_is_left_with_the_last_that_holds_it(family: Family, left: list[bool]):
    one, other = RaySandbox(family, 0, "created"), RaySandbox(family, 1, "forked")
    await one.aclose()
    assert left == []
    await other.aclose()
    assert left == [False]


async def test_a_sandbox_that_does_not_close_holds_no_place(actor: Actor, family: Family, left: list[bool]):
    one, other = RaySandbox(family, 0, "created"), RaySandbox(family, 1, "forked")
    actor.failing["close"] = InfraError("the workspace is busy")
    for sandbox in (one, other):
        with pytest.raises(InfraError, match="busy"):
            await sandbox.aclose()
    assert left == [False]


@pytest.mark.parametrize("error", [InfraError("the inputs can't be removed"), OSError("busy")])
async def test_a_place_that_does_not_clear_goes_to_nobody_else(
    actor: Actor, family: Family, left: list[bool], error: Exception
):
    actor.failing["clear"] = error
    with pytest.raises(type(error)):
        await RaySandbox(family, 0, "created").aclose()
    assert left == [True]


async def test_a_lost_place_is_left_without_a_word(actor: Actor, family: Family, left: list[bool]):
    actor.failing = {"close": LostPlace("the node died"), "clear": LostPlace("the node died")}
    await RaySandbox(family, 0, "created").aclose()
    assert left == [True]
