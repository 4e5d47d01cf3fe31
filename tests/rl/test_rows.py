"""Rows are made by extending tokens; a prompt that breaks with what came before starts a new one and is counted."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.rl.rows import demonstration_rows, sampled_rows
from sandmle.rl.types import CONTEXT
from sandmle.trajectory import Action, Episode, EpisodeStatus, Message, StepResult, TokenFields, Turn

STOP = 0


class Renderer:
    """A message is its words' lengths; enough to see which ids come from where."""

    stop = STOP

    def message(self, message):
        return (90, *map(len, message.content.split()))

    def prompt_end(self):
        return (91,)

    def reply(self, ids):
        return (*ids, *(() if ids[-1] == STOP else (STOP,)), 92)

    def reply_ids(self, text):
        return (*map(len, text.split()), STOP)


def episode(turns, **fields):
    return Episode(
        id="e" * 16,
        task_id="task-1",
        task_hash="h",
        scaffold="react",
        policy="train:policy",
        protocol="train",
        repeat=0,
        status=EpisodeStatus.ANSWERED,
        turns=tuple(turns),
        **fields,
    )


def sampled(index, prompt, reply, version=0):
    tokens = TokenFields(prompt_ids=prompt, completion_ids=reply, logprobs=[-0.1 * each for each in reply])
    return Turn(index=index, messages=(), reply="", action=None, format_ok=False, tokens=tokens, weight_version=version)


def test_a_conversation_is_one_row():
    found = sampled_rows(episode([sampled(0, (1, 2), (3, STOP), 4), sampled(1, (1, 2, 3, STOP, 5), (6,), 3)]))
    (row,) = found.rows
    assert found.breaks == 0
    assert row.token_ids.tolist() == [1, 2, 3, STOP, 5, 6]
    assert row.turns.tolist() == [CONTEXT, CONTEXT, 0, 0, CONTEXT, 1]
    assert row.mask.tolist() == [False, False, True, True, False, True]
    assert row.sampler_logprobs == pytest.approx([0, 0, -0.3, 0, 0, -0.6])
    assert row.weight_version == 3


def test_a_rewritten_context_breaks_the_row():
    found = sampled_rows(episode([sampled(0, (1, 2), (3,)), sampled(1, (1, 9, 3, 5), (6,))]))
    assert found.breaks == 1
    assert [row.token_ids.tolist() for row in found.rows] == [[1, 2, 3], [1, 9, 3, 5, 6]]


def test_a_turn_without_token_ids_is_refused():
    turn = Turn(index=0, messages=(), reply="text", action=None, format_ok=False)
    with pytest.raises(BadInput, match="turn 0: no token ids"):
        sampled_rows(episode([turn]))


ids = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.tuples(ids, ids, st.booleans()), min_size=1, max_size=5))
@example([((1,), (1,), False), ((1, 1), (1,), True)])
def test_every_sampled_token_is_learnt_once_with_its_own_logprob(parts):
    turns, before = [], ()
    for index, (context, reply, broken) in enumerate(parts):
        prompt = (100 + index, *context) if broken or not before else (*before, *context)  # a start that no other has
        turns.append(sampled(index, prompt, reply))
        before = (*prompt, *reply)
    found = sampled_rows(episode(turns))
    learnt = [token for row in found.rows for token in row.token_ids[row.mask]]
    assert learnt == [token for _, reply, _ in parts for token in reply]
    logprobs = np.concatenate([row.sampler_logprobs[row.mask] for row in found.rows])
    assert logprobs == pytest.approx([-0.1 * token for token in learnt])
    assert found.breaks == len(found.rows) - 1 == sum(broken for _, _, broken in parts[1:])


def played(index, asked, reply, status="ok", anew=False):
    return Turn(
        index=index,
        messages=(Message(role="user", content=asked),),
        anew=anew,
        reply=reply,
        action=Action(kind="python"),
        format_ok=True,
        step=StepResult(status=status, tier="A"),
    )


def test_a_demonstration_learns_replies_and_nothing_else():
    found = demonstration_rows(episode([played(0, "aa b", "ccc"), played(1, "d", "ee")]), Renderer())
    (row,) = found.rows
    assert row.token_ids.tolist() == [90, 2, 1, 91, 3, STOP, 92, 90, 1, 91, 2, STOP]
    assert row.token_ids[row.mask].tolist() == [3, STOP, 2, STOP]
    assert row.turns[row.mask].tolist() == [0, 0, 1, 1]


def test_replies_whose_code_failed_can_be_left_out():
    turns = [played(0, "a", "ccc", status="error"), played(1, "d", "ee")]
    found = demonstration_rows(episode(turns), Renderer(), learn_failed_steps=False)
    assert found.rows[0].token_ids[found.rows[0].mask].tolist() == [2, STOP]


def test_prompts_that_begin_anew_are_rows_of_their_own():
    turns = [played(0, "a", "ccc", anew=True), played(1, "d", "ee", anew=True)]
    assert [len(row) for row in demonstration_rows(episode(turns), Renderer()).rows] == [5, 5]
