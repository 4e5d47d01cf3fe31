"""Rollouts of a policy that has every vice, in real sandboxes: each ends, and its group goes on without it."""

import asyncio
import os
import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest
from byte_codec import RENDERER

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.errors import InfraError
from sandmle.rl.algorithms import make_estimator
from sandmle.rl.groups import GroupSettings
from sandmle.rl.rollouts import Player, RolloutSettings, task_order
from sandmle.rl.stream import GroupStream
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import EpisodeStatus

ANSWER = "<answer>submission</answer>"
PRINTS = "<tool_call>\npython\n<code>\nprint(1)\n</code>\n</tool_call>"
ENDLESS = "<tool_call>\npython\n<code>\nwhile True: pass\n</code>\n</tool_call>"


class Scripted:
    """An engine whose reply depends on the repeat: text, an error, or None for silence."""

    def __init__(self, *replies):
        self.replies = replies

    def player(self):
        return nullcontext()

    async def sample(self, prompt, settings, stop, *, key):
        reply = self.replies[int(key.split("/")[1]) % len(self.replies)]
        if reply is None:
            await asyncio.Event().wait()
        if isinstance(reply, Exception):
            raise reply
        ids = RENDERER.reply_ids(reply)
        return Sample(ids, (-0.5,) * len(ids), weight_version=0)


class LastFirst(Scripted):
    """The last repeat is asked before any other is answered, so it has its sandbox."""

    def __init__(self, *replies):
        super().__init__(*replies)
        self.begun = asyncio.Event()

    async def sample(self, prompt, settings, stop, *, key):
        if int(key.split("/")[1]) == len(self.replies) - 1:
            self.begun.set()
        await self.begun.wait()
        return await super().sample(prompt, settings, stop, key=key)


class Killing(Scripted):
    """Kills the first sandbox when its episode asks for the first reply."""

    backend = None

    async def sample(self, prompt, settings, stop, *, key):
        if len(self.backend.sandboxes) == 1:
            os.kill(self.backend.sandboxes[0]._body.channel.pid, signal.SIGKILL)
        return await super().sample(prompt, settings, stop, key=key)


class SilentAtFirst(Scripted):
    """The first group is never answered."""

    async def sample(self, prompt, settings, stop, *, key):
        if key.startswith("000000000/"):
            await asyncio.Event().wait()
        return await super().sample(prompt, settings, stop, key=key)


class Watched:
    """A backend that remembers its sandboxes."""

    def __init__(self, backend):
        self.backend, self.sandboxes = backend, []

    async def create(self, spec):
        self.sandboxes.append(await self.backend.create(spec))
        return self.sandboxes[-1]

    def __getattr__(self, name):
        return getattr(self.backend, name)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return materialize(get_seed("iris"), tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def backend():
    return LocalBackend(concurrency=2, allow_unisolated=True)


@pytest.fixture
def player(task, backend):
    def make(*replies, max_tokens=32_768, **settings):
        chosen = RolloutSettings(
            group=len(replies), turns=4, sampling=SamplingSettings(max_tokens=max_tokens), **settings
        )
        return Player("train:policy", [task], Scripted(*replies), RENDERER, Watched(backend), chosen, seed=0)

    return make


async def test_a_rollout_has_a_time_limit(player):
    episode = (await player(None, wall_seconds=0.2).episode(player(None).tasks[0], 0, 0)).episode
    assert (episode.status, episode.masked) == (EpisodeStatus.WALL_BUDGET, False)


async def test_code_that_hangs_costs_a_step_not_the_rollout(player):
    playing = player(ENDLESS, step_seconds=0.3)
    episode = (await playing.episode(playing.tasks[0], 0, 0)).episode
    assert [turn.step.status for turn in episode.turns] == ["timeout"] * 4
    assert (episode.status, episode.reward.parts["format"] > 0) == (EpisodeStatus.MAX_TURNS, True)


async def test_code_that_hangs_masks_the_rollout_where_the_reward_is_the_released_one(player):
    playing = player(ENDLESS, step_seconds=0.3, reward="released")
    rollout = await playing.rollout(playing.tasks[0], 0, 0)
    assert (rollout.mask_reason, rollout.turn_rewards, rollout.counted) == (EpisodeStatus.STEP_TIMEOUTS, None, False)
    assert rollout.rows


async def test_a_straggler_is_cut_and_its_sandbox_is_gone(player):
    playing = player(ANSWER, ANSWER, ENDLESS, step_seconds=600, deadline_s=0.1)
    playing = replace(playing, engine=LastFirst(ANSWER, ANSWER, ENDLESS))
    group = await playing.group(0)
    assert (group.asked, len(group.rollouts), len(group.counted)) == (3, 2, 2)
    assert len(playing.backend.sandboxes) == 3
    for sandbox in playing.backend.sandboxes:
        with pytest.raises(InfraError):
            await sandbox.run("print(1)", timeout=5)


async def test_a_sandbox_that_is_killed_is_opened_again_and_costs_no_rollout(player):
    playing = player(PRINTS)
    playing = replace(playing, engine=Killing(PRINTS))
    playing.engine.backend = playing.backend
    (rollout,) = (await playing.group(0)).rollouts
    assert (rollout.mask_reason, rollout.runs, len(playing.backend.sandboxes)) == (None, 4, 2)


async def test_an_update_does_not_wait_for_an_endpoint_that_says_nothing(player):
    playing = replace(player(ANSWER, ANSWER, give_up_s=2), engine=SilentAtFirst(ANSWER))
    settings = GroupSettings(flat="keep", refills=4)
    async with GroupStream(playing.group, make_estimator({"name": "grpo"}), settings, batch=2) as stream:
        taken = await stream.take()
    assert len(taken.groups) == 2
    assert (taken.tally.cut, taken.tally.single, taken.tally.counted) == (2, 1, 4)


async def test_an_engine_that_fails_masks_its_rollout_and_spares_the_group(player):
    group = await player(ANSWER, InfraError("weights are gone"), ANSWER).group(0)
    assert [rollout.mask_reason for rollout in group.rollouts] == [None, EpisodeStatus.INFRA_ERROR, None]
    assert group.rollouts[1].reward is None
    assert len(group.counted) == 2


@pytest.mark.parametrize(
    "reply",
    [
        '<tool_call>{"name": "Score", "arguments": {</tool_call>',
        "<tool_call>[1, 2</tool_call>",
        '<tool_call>{"name": null}</tool_call>',
        "<tool_call>" * 50,
    ],
)
async def test_broken_tool_json_is_the_agents_fault_and_ends_no_run(player, reply):
    group = await player(reply, ANSWER).group(0)
    assert [rollout.counted for rollout in group.rollouts] == [True, True]
    assert group.rollouts[0].reward == 0.0


async def test_a_context_that_overflows_ends_its_episode_alone(player):
    playing = player(ENDLESS.replace("while True: pass", "print('x' * 6000)"), max_tokens=9_000)
    episode = (await playing.episode(playing.tasks[0], 0, 0)).episode
    assert (episode.status, episode.masked) == (EpisodeStatus.TOKEN_BUDGET, False)
    assert all(len(turn.tokens.prompt_ids) + len(turn.tokens.completion_ids) <= 9_000 for turn in episode.turns)


def test_every_task_is_played_once_a_pass_in_an_order_of_its_own():
    passes = [[task_order(7, 7 * turn + place, seed=3) for place in range(7)] for turn in range(3)]
    assert [sorted(each) for each in passes] == [list(range(7))] * 3
    assert len(set(map(tuple, passes))) > 1
