"""Measurements belong to the policy that was measured; and what a policy sees that is shown another task's brief."""

import os
from contextlib import nullcontext

import pytest
from byte_codec import RENDERER

from sandmle.agents.chat.tokens import Sample
from sandmle.rl.experiments._measure import Asked, Measured, OtherBrief, measure
from sandmle.rl.rollouts import RolloutSettings
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import Message


class Answering:
    """An engine that answers at once and remembers what it was shown, by key."""

    def __init__(self):
        self.shown = {}

    def player(self):
        return nullcontext()

    async def sample(self, prompt, settings, stop, *, key):
        self.shown[key] = RENDERER.text(prompt)
        ids = RENDERER.reply_ids("<answer>submission</answer>")
        return Sample(ids, (-0.5,) * len(ids), weight_version=0)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    root = tmp_path_factory.mktemp("tasks")
    return [materialize(get_seed(name), root) for name in ("iris", "wine")]


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "model.safetensors").write_bytes(b"weights after 20 updates")
    return tmp_path / "policy"


async def ask(tasks, policy, *, other_brief=False):
    """A measurement; what the engine was shown for it, and what came out."""
    engine, backend = Answering(), LocalBackend(concurrency=1, allow_unisolated=True)
    try:
        found = await measure(
            tasks,
            engine,
            RENDERER,
            backend,
            RolloutSettings(turns=1),
            Asked(0.0, 1, other_brief),
            at_once=2,
            policy=policy,
            path=policy.parent / "results-same-0.jsonl",
        )
    finally:
        await backend.aclose()
    return engine.shown, found


async def test_a_policy_is_measured_once_and_again_when_its_weights_have_changed(tasks, policy):
    shown, first = await ask(tasks, policy)
    assert len(shown) == len(first) == 2
    assert await ask(tasks, policy) == ({}, first)
    (policy / "model.safetensors").write_bytes(b"weights after 40 updates")
    shown, second = await ask(tasks, policy)
    assert len(shown) == 2
    assert {each.weights for each in second}.isdisjoint(each.weights for each in first)
    assert await ask(tasks, policy) == ({}, second)


@pytest.mark.parametrize(("age_s", "read"), [(-60, False), (60, True)])
async def test_a_file_that_tells_no_weights_counts_unless_it_is_older_than_they_are(tasks, policy, age_s, read):
    path = policy.parent / "results-same-0.jsonl"
    known = Measured(
        task_id="a", repeat=0, reward=0.5, format=1, valid=True, gold=False, tokens=9, sandbox_s=0.1, weights="x"
    )
    path.write_text(known.model_dump_json(exclude={"weights"}) + "\n")
    made = (policy / "model.safetensors").stat().st_mtime
    os.utime(path, (made + age_s, made + age_s))
    shown, found = await ask(tasks, policy)
    assert (not shown, [each.task_id for each in found] == ["a"]) == (read, read)


async def test_the_arm_with_another_brief_is_shown_the_next_tasks_and_nothing_of_its_own(tasks, policy):
    briefs = [(task.public / "description.md").read_text() for task in tasks]
    own, _ = await ask(tasks, policy)
    (policy.parent / "results-same-0.jsonl").unlink()
    other, found = await ask(tasks, policy, other_brief=True)
    assert [each.task_id for each in found] == [task.id for task in tasks]
    for place, key in enumerate(sorted(own)):
        assert briefs[place] in own[key]
        assert briefs[place] not in other[key]
        assert briefs[1 - place] in other[key]


def test_another_brief_takes_the_place_of_the_first_message_alone():
    renderer = OtherBrief(RENDERER, "another brief")
    for message in (
        Message(role="system", content="how to call tools"),
        Message(role="user", content="<tool_response>\n1\n</tool_response>"),
    ):
        assert renderer.message(message) == RENDERER.message(message)
    shown = renderer.message(Message(role="user", content="its own brief"))
    assert shown == RENDERER.message(Message(role="user", content="another brief"))
    ids = RENDERER.reply_ids("reply")
    assert renderer.reply_ids("reply") == ids
    assert (renderer.stop, renderer.prompt_end()) == (RENDERER.stop, RENDERER.prompt_end())
    assert (renderer.reply(ids), renderer.text(ids)) == (RENDERER.reply(ids), RENDERER.text(ids))
