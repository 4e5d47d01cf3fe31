from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandmle.agents.context import LEFT_OUT, Conversation, estimate_tokens, fit
from sandmle.trajectory import Message, Turn

OPENING = (Message(role="system", content="s" * 400), Message(role="user", content="u" * 400))


def turn(index: int, reply: int, observation: int) -> Turn:
    return Turn(
        index=index,
        messages=(),
        reply=f"r{index}" + "r" * reply,
        action=None,
        format_ok=False,
        observation=f"o{index}" + "o" * observation,
    )


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Conversation, int, int | None]:
    sizes = draw(st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 2_000)), max_size=8))
    turns = tuple(turn(index, *size) for index, size in enumerate(sizes))
    keep = draw(st.one_of(st.none(), st.integers(0, max(len(turns) - 1, 0))))
    return Conversation(OPENING, turns), draw(st.integers(1, 10_000)), keep


@given(conversations())
def test_fit(case: tuple[Conversation, int, int | None]) -> None:
    conversation, budget, keep = case
    fitted = fit(conversation, budget, keep=keep)
    if estimate_tokens(conversation.messages) <= budget:
        assert fitted == conversation
        return
    if fitted is None:
        protected = [*OPENING, *Conversation((), conversation.turns[-1:]).messages]
        slack = 40 * len(conversation.turns)  # what stands in for each dropped message
        kept = len(conversation.turns[keep].reply) / 4 if keep is not None and conversation.turns else 0
        assert estimate_tokens(protected) + kept + slack > budget
        return
    assert estimate_tokens(fitted.messages) <= budget
    assert fitted.messages[:2] == OPENING
    assert fitted.messages[-2:] == conversation.messages[-2:]  # the most recent turn is whole
    if keep is not None:
        assert keep not in fitted.dropped_replies
    assert fitted.pruned > 0
    if fitted.dropped_replies:
        assert fitted.dropped_observations == len(conversation.turns) - 1  # observations go first
    assert fit(fitted, budget, keep=keep) == fitted


@given(conversations())
def test_what_was_dropped_stays_dropped(case: tuple[Conversation, int, int | None]) -> None:
    conversation, budget, keep = case
    fitted = fit(conversation, budget, keep=keep)
    if fitted is None:
        return
    longer = Conversation(
        OPENING, (*fitted.turns, turn(len(fitted.turns), 5, 5)), fitted.dropped_observations, fitted.dropped_replies
    )
    again = fit(longer, budget, keep=keep)
    if again is not None:
        assert again.dropped_observations >= fitted.dropped_observations
        assert again.dropped_replies >= fitted.dropped_replies


def test_oldest_observation_goes_first() -> None:
    conversation = Conversation(OPENING, tuple(turn(index, 10, 400) for index in range(3)))
    fitted = fit(conversation, estimate_tokens(conversation.messages) - 50)
    assert fitted is not None
    assert (fitted.dropped_observations, fitted.dropped_replies) == (1, frozenset())
    assert LEFT_OUT in fitted.messages[3].content
    assert "o1" in fitted.messages[5].content
