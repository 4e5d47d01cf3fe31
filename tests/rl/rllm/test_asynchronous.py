"""rLLM's asynchronous loop over our adapter: rollouts that run ahead, what is cut, where it goes on and how it ends."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rllm.trainer.unified_trainer", reason="rllm is not installed")
pytest.importorskip("torch", reason="needs the extra train")

from rllm_backends import GRPO, Barren, Counted, Refused, Stuck, assert_ours
from rllm_contract import make_inputs, settings, train
from rllm_example import played, turn

from sandmle.errors import EnvironmentProblem
from sandmle.rl.checkpoints import TrainerState
from sandmle.rl.rewards import get_preset, score_episode
from sandmle.rl.rllm.backend import EmbeddedBackend
from sandmle.rl.rllm.episodes import as_rllm
from sandmle.rl.rllm.local import Unified
from sandmle.rl.trainer.training import atrain
from sandmle.sandboxes import LocalBackend

GROUP = 4


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return make_inputs(tmp_path_factory.mktemp("asynchronous"))


def streaming(inputs, updates, **rollouts):
    """Settings with which groups run ahead by one update."""
    asked = settings(inputs, updates)
    changed = {
        "groups": asked.grpo.groups.model_copy(update={"max_staleness": 1, "flat": "keep"}),
        "rollouts": asked.grpo.rollouts.model_copy(update=rollouts),
    }
    return asked.model_copy(update={"grpo": asked.grpo.model_copy(update=changed)})


@pytest.mark.parametrize("advantages", ["rllm", "ours"])
def test_the_asynchronous_loop_learns_the_same_from_rollouts_that_run_ahead(inputs, tmp_path, advantages):
    held, metrics = train(streaming(inputs, 4), tmp_path, advantages=advantages)
    assert [line["update"] for line in metrics] == [1, 2, 3, 4]
    ages = []
    for number, update in enumerate(held):
        assert len(update.groups) == len(update.ours) == 2
        for example in assert_ours(update):
            ages.append(number - example.row.weight_version)
    assert max(ages) == 1
    assert min(ages) == 0
    episodes = [each.trajectories[0].output for update in held for each in update.episodes]
    assert len({each.id for each in episodes}) == len(episodes) == 4 * 2 * GROUP


def test_a_stuck_sandbox_stalls_no_asynchronous_update(inputs, tmp_path):
    _, metrics = train(streaming(inputs, 3), tmp_path, Stuck(LocalBackend(allow_unisolated=True)))
    assert [line["update"] for line in metrics] == [1, 2, 3]
    assert all(line["rollouts"] == 2 * GROUP and line["rollouts_cut"] == 0 for line in metrics)


def test_nothing_is_played_after_the_end(inputs, tmp_path):
    """Whatever ran ahead ends with the training, though its event loop lives on."""
    backend = Counted(LocalBackend(allow_unisolated=True))

    async def watch():
        reinforce = Unified(way="workflow")
        await atrain(streaming(inputs, 1), tmp_path, backend=backend, reinforce=reinforce, trainer="rllm")
        made = backend.made
        await asyncio.sleep(1.0)
        return backend.made - made, [task for task in asyncio.all_tasks() if "UnifiedTrainer" in repr(task)]

    assert asyncio.run(watch()) == (0, [])


def test_rows_that_are_too_old_leave_the_baseline():
    """And a rollout that is left alone teaches nothing."""

    def rollout(number, version, *, good):
        turns = (turn(0, (1, 2), (3, 4), weight_version=version),)
        reward = score_episode([good], None, get_preset("paper"))
        return as_rllm(played(id=f"{number:016x}", turns=turns, reward=reward)).trajectories[0]

    first = [rollout(0, 2, good=True), rollout(1, 2, good=False), rollout(2, 0, good=True)]
    second = [rollout(3, 2, good=True), rollout(4, 0, good=False)]
    limits = SimpleNamespace(groups=SimpleNamespace(max_staleness=1))
    learning = SimpleNamespace(state=TrainerState(updates=3), settings=limits, estimator=GRPO)
    backend = EmbeddedBackend(SimpleNamespace(), learning=learning)
    groups = [SimpleNamespace(trajectories=each) for each in (first, second)]
    (found,) = backend.transform_to_backend_batch(SimpleNamespace(trajectory_groups=groups))
    assert [each.id for each in found.rollouts] == [f"{number:016x}" for number in (0, 1)]
    (good,), (bad,) = GRPO.advantages([np.array([step.reward for step in each.steps]) for each in first[:2]])
    assert [each.steps[0].advantage for each in first[:2]] == [good, bad]
    assert good > 0 > bad


def test_an_asynchronous_training_goes_on_where_it_was_stopped(inputs, tmp_path):
    """Also where groups are dropped, so that more were played than were learnt from: no episode is made twice."""
    dropping = {"groups": streaming(inputs, 1).grpo.groups.model_copy(update={"flat": "drop"})}
    asked = [
        each.model_copy(update={"grpo": each.grpo.model_copy(update=dropping)})
        for each in (streaming(inputs, 1), streaming(inputs, 2))
    ]
    backends = [Counted(LocalBackend(allow_unisolated=True)) for _ in asked]
    first, _ = train(asked[0], tmp_path, backends[0])
    later, metrics = train(asked[1], tmp_path, backends[1])
    assert [line["update"] for line in metrics] == [2]
    ids = [output_of(each).id for update in (*first, *later) for each in update.episodes]
    assert len(set(ids)) == len(ids)
    (last,) = (tmp_path / "checkpoints").glob("*-000002")
    state = TrainerState.read(last / "trainer.json")
    assert state.groups >= sum(backend.made for backend in backends) // GROUP
    assert {turn.weight_version for update in later for each in update.episodes for turn in output_of(each).turns} == {
        1
    }


@pytest.mark.parametrize(
    ("backend", "told"), [("Barren", "^every rollout of an update failed"), ("Refused", "no isolation here")]
)
def test_what_ends_a_training_ends_an_asynchronous_one(inputs, tmp_path, backend, told):
    with pytest.raises(EnvironmentProblem, match=told):
        train(streaming(inputs, 1), tmp_path, {"Barren": Barren, "Refused": Refused}[backend]())


def output_of(episode):
    (trajectory,) = episode.trajectories
    return trajectory.output
