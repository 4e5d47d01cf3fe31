"""Which training an arm has, and how long it goes on; nothing is really trained or measured here."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.checkpoints import TrainerState
from sandmle.rl.experiments import ExperimentSettings, _arms
from sandmle.rl.experiments._arms import Arms
from sandmle.rl.experiments._measure import Measured
from sandmle.rl.trainer.training import TrainingRecord

PLAIN = {
    "tasks": {"seeds": ["iris"], "other_seeds": ["wine"], "constants": ["-"]},
    "train": {"sft": {}, "grpo": {"updates": 10}},
}
SFT = {"name": "sft", "source": "imitation"}
TOKENS = {"grpo": 100, "slow": 70, "mute": 10}
"""Sampled in each update of an arm."""


def episodes(*rewards):
    told = {"format": 1, "valid": True, "gold": False, "tokens": 9, "sandbox_s": 0.1}
    return [Measured(task_id="a", repeat=place, reward=reward, **told) for place, reward in enumerate(rewards)]


REWARDS = {
    0.0: episodes(0.2),
    0.25: episodes(None, None),
    0.5: episodes(0.0, None),
    1.0: episodes(0.1, 0.1),
    2.0: episodes(None),
}
"""What is measured at a temperature."""


async def train(settings, out, **_):
    """Leaves the files of a training, without one."""
    updates = settings.grpo.updates if settings.grpo else 0
    line = json.dumps(
        {"rollouts": 8, "sampled": TOKENS.get(out.name, 100), "sandbox_runs": 8, "sandbox_s": 1.0, "reward": 0.5}
    )
    (out / "policy").mkdir(parents=True, exist_ok=True)
    (out / "policy" / "trainer.json").write_text(TrainerState(updates=updates).to_text())
    (out / "metrics-grpo.jsonl").write_text((line + "\n") * updates)
    (out / "train.json").write_text(TrainingRecord(settings=settings, tasks={}, versions={}).to_text())


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Plays arms into one folder; the updates that were measured, by arm."""
    measured = {}

    async def measure(*given, policy, **_):
        asked = given[5]
        measured[policy.parent.name] = TrainerState.read(policy / "trainer.json").updates
        return REWARDS[asked.temperature]

    monkeypatch.setattr(_arms, "atrain", train)
    monkeypatch.setattr(_arms, "measure", measure)
    monkeypatch.setattr(_arms, "load_policy", lambda _: SimpleNamespace(model=None, renderer=None))
    monkeypatch.setattr(_arms, "LocalEngine", lambda *_, **__: None)

    async def play(*arms, match=None, told=lambda _: None):
        settings = ExperimentSettings.model_validate({**PLAIN, "arms": [SFT, *arms], "match": match})
        sets = {name: [] for name in ("train", "same", "other", "unseen")}
        runner = Arms(settings, tmp_path, sets, [], None, told)
        for arm in settings.arms:
            await runner.results(arm, seed=0)
        return runner, dict(measured)

    return play


def updates(number):
    return {"name": "grpo", "change": {"grpo": {"updates": number}}}


async def test_an_arm_may_go_on_and_is_measured_with_the_updates_it_has_made(played):
    _, measured = await played({"name": "grpo"})
    assert measured == {"imitation": 0, "grpo": 10}
    _, measured = await played(updates(40))
    assert measured == {"imitation": 0, "grpo": 40}


@pytest.mark.parametrize(
    ("arm", "says"),
    [
        (
            updates(5),
            "seed-0/grpo: has made 10 updates, more than the 5 of the arm 'grpo'; give the changed arm another",
        ),
        (
            {"name": "grpo", "change": {"grpo": {"rollouts": {"reward": "execution"}}}},
            "seed-0/grpo: was trained with other settings than those of the arm 'grpo'; give the changed arm another",
        ),
    ],
)
async def test_an_arm_that_changed_otherwise_does_not_pass_for_the_one_that_was_trained(played, arm, says):
    await played({"name": "grpo"})
    with pytest.raises(BadInput, match=says):
        await played(arm)


async def test_a_finished_experiment_may_be_moved(played, tmp_path):
    await played({"name": "grpo"})
    record = tmp_path / "seed-0" / "grpo" / "train.json"
    record.write_text(record.read_text().replace(str(tmp_path), "/elsewhere"))
    _, measured = await played({"name": "grpo"})
    assert measured["grpo"] == 10


async def test_an_arm_that_stops_before_it_has_matched_the_costs_is_known_by_its_seeds(played):
    arms = [{"name": name} for name in ("grpo", "slow", "mute")]
    runner, measured = await played(*arms, match={"arm": "grpo", "costs": ["tokens"]})
    assert measured == {"imitation": 0, "grpo": 10, "slow": 15, "mute": 20}
    found = {arm.name: runner.unmatched(arm) for arm in runner.settings.arms}
    assert found == {"sft": (), "grpo": (), "slow": (), "mute": (0,)}


@pytest.mark.parametrize(("temperatures", "best"), [((0.25, 0.5), "0.5"), ((0.25, 0.5, 1.0), "1")])
async def test_a_temperature_at_which_nothing_came_through_is_not_the_best_one(played, temperatures, best):
    told = []
    runner, _ = await played({"name": "cool", "of": "sft", "temperatures": temperatures}, told=told.append)
    assert runner.notes == {"cool": best}
    assert "[cool, seed 0: train at temperature 0.25] all masked" in told


async def test_without_any_episode_that_came_through_no_temperature_is_chosen(played):
    with pytest.raises(EnvironmentProblem, match="seed-0/imitation: every episode on training tasks failed"):
        await played({"name": "cool", "of": "sft", "temperatures": (0.25, 2.0)})
