"""A whole training of a very small policy: real demonstrations, real sandboxes, real updates."""

import asyncio
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.agents.chat.tokens import SamplingSettings
from sandmle.api import aevaluate
from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.eval.runs import read_run
from sandmle.files import SCRATCH
from sandmle.rl.checkpoints import TinyModel, load_policy
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.exports import Selection, export_episodes, selected_episodes
from sandmle.rl.groups import GroupSettings
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.splits import bare_traits, split_tasks
from sandmle.rl.statistics import TokenStatistics
from sandmle.rl.stream import GroupStream
from sandmle.rl.trainer import (
    GrpoSettings,
    ModelSettings,
    OptimizerSettings,
    SftOptimizerSettings,
    SftSettings,
    TrainSettings,
    _imitate,
    _reinforce,
    bundled_configs,
)
from sandmle.rl.trainer.training import atrain, training_tasks
from sandmle.rl.types import Example
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import load_tasks

TIMES = {"rollout_s", "update_s", "sandbox_s"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A task, and episodes of a scripted policy on it."""
    root = tmp_path_factory.mktemp("training")
    materialize(get_seed("iris"), root / "tasks")
    suite, models = f"synthetic:{root / 'tasks'}", ["scripted:dummy"]
    asyncio.run(aevaluate(suite=suite, models=models, out=root / "run", repeats=2, allow_unisolated=True))
    return root


def settings(inputs, updates):
    return TrainSettings(
        tasks=inputs / "tasks",
        model=ModelSettings(
            tiny=TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=8192), vocabulary=400
        ),
        sft=SftSettings(
            runs=(inputs / "run",),
            epochs=1,
            batch=2,
            max_tokens=8192,
            optimizer=SftOptimizerSettings(learning_rate=1e-2, warmup=0, decay=False),
        ),
        grpo=GrpoSettings(
            updates=updates,
            batch=2,
            groups={"flat": "keep", "refills": 0},
            rollouts=RolloutSettings(group=2, turns=2, sampling=SamplingSettings(max_new_tokens=12, max_tokens=8192)),
            optimizer=OptimizerSettings(learning_rate=1e-3),
            batching="lockstep",
            checkpoint_every=1,
            keep_checkpoints=1,
            transcripts=True,
        ),
    )


def train(settings, out):
    steps = []
    asyncio.run(atrain(settings, out, on_step=steps.append, allow_unisolated=True))
    return steps


def lines(out):
    kept = [json.loads(line) for line in (out / "metrics-grpo.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMES} for line in kept]


def weights(out):
    return (out / "policy" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def unbroken(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("unbroken")
    return out, train(settings(inputs, 2), out)


def test_both_phases_run_and_leave_a_policy(unbroken):
    out, steps = unbroken
    assert [(step.phase, step.number) for step in steps] == [("sft", 1), ("grpo", 1), ("grpo", 2)]
    assert load_policy(out / "policy").renderer.stop > 0
    assert len(list((out / "tokens").glob("part-*.parquet"))) == 2
    assert [each.name for each in (out / "checkpoints").iterdir()] == ["step-000002"]


def test_a_resumed_training_is_the_unbroken_one_to_the_last_bit(inputs, unbroken, tmp_path, monkeypatch):
    written = _reinforce.checkpoint

    def after_the_metrics(policy, learner, state, *rest):
        assert len(lines(tmp_path)) == state.updates
        written(policy, learner, state, *rest)

    monkeypatch.setattr(_reinforce, "checkpoint", after_the_metrics)
    train(settings(inputs, 1), tmp_path)
    (tmp_path / "metrics-grpo.jsonl").open("a").write('{"update": 2, "reward": 9}\n{"cut o')
    leftover = tmp_path / "checkpoints" / f"{SCRATCH}killed"
    leftover.mkdir()
    beyond = [tmp_path / "tokens" / name for name in ("part-000002.parquet", "part-000009.parquet", ".part-000002.x")]
    for path in beyond:
        path.write_bytes(b"of a killed run")
    steps = train(settings(inputs, 2), tmp_path)
    assert [(step.phase, step.number) for step in steps] == [("grpo", 2)]
    assert lines(tmp_path) == lines(unbroken[0])
    assert weights(tmp_path) == weights(unbroken[0])
    assert not leftover.exists()
    assert [path.exists() for path in beyond] == [True, False, False]
    assert beyond[0].read_bytes() == (unbroken[0] / "tokens" / "part-000002.parquet").read_bytes()


def test_imitation_stops_between_two_steps_and_goes_on_from_its_checkpoint(inputs, tmp_path):
    few = settings(inputs, 1)
    sft = few.sft.model_copy(update={"epochs": 4, "batch": 1, "checkpoint_every": 2})
    few = few.model_copy(update={"sft": sft, "grpo": None})
    whole = train(few, tmp_path / "whole")

    async def cancelled():
        steps = []

        def third(step):
            steps.append(step)
            if len(steps) == 3:
                training.cancel()

        training = asyncio.create_task(atrain(few, tmp_path / "cut", on_step=third, allow_unisolated=True))
        with pytest.raises(asyncio.CancelledError):
            await training
        return steps

    assert len(asyncio.run(cancelled())) == 3
    rest = train(few, tmp_path / "cut")
    assert [step.number for step in rest] == list(range(3, whole[-1].total + 1))
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    logs = [(tmp_path / name / "metrics-sft.jsonl").read_text().splitlines() for name in ("cut", "whole")]
    assert [[json.loads(line)["nll"] for line in log] for log in logs] == [[each.metrics["nll"] for each in whole]] * 2
    assert not (tmp_path / "cut" / "sft-checkpoints").exists()


def test_an_engine_that_never_answers_stops_the_training_with_one_line(inputs, tmp_path, monkeypatch):
    async def fail(*_, **__):
        raise InfraError("out of memory")

    monkeypatch.setattr(LocalEngine, "sample", fail)
    with pytest.raises(EnvironmentProblem, match=r"update 1: every rollout failed: .*\(infra_error 4;"):
        train(settings(inputs, 2), tmp_path)
    assert not (tmp_path / "checkpoints").exists()


def test_groups_that_are_all_cut_off_stop_the_training_with_one_line(inputs, tmp_path, monkeypatch):
    async def hang(*_, **__):
        await asyncio.Event().wait()

    monkeypatch.setattr(LocalEngine, "sample", hang)
    given = settings(inputs, 2)
    impatient = given.grpo.model_copy(
        update={"rollouts": given.grpo.rollouts.model_copy(update={"give_up_s": 0.5}), "batching": "continuous"}
    )
    with pytest.raises(EnvironmentProblem, match=r"update 1: every rollout failed: .*\(cut 4;"):
        train(given.model_copy(update={"grpo": impatient}), tmp_path)
    assert not (tmp_path / "checkpoints").exists()


def test_groups_end_before_the_sandboxes_that_they_play_in(inputs, tmp_path, monkeypatch):
    ended = []

    def note(owner, method, name):
        original = getattr(owner, method)

        async def noted(self, *args):
            await original(self, *args)
            ended.append(name)

        monkeypatch.setattr(owner, method, noted)

    def fail(*_):
        raise EnvironmentProblem("the disk is full")

    note(GroupStream, "__aexit__", "groups")
    note(LocalBackend, "aclose", "sandboxes")
    monkeypatch.setattr(_reinforce, "write_rows", fail)
    with pytest.raises(EnvironmentProblem, match="the disk is full"):
        train(running_ahead(inputs), tmp_path)
    assert ended == ["groups", "sandboxes"]


def running_ahead(inputs):
    given = settings(inputs, 2)
    groups = GroupSettings(flat="keep", refills=0, max_staleness=1)
    return given.model_copy(update={"grpo": given.grpo.model_copy(update={"batching": "continuous", "groups": groups})})


def test_groups_may_run_ahead_of_the_updates(inputs, tmp_path):
    train(running_ahead(inputs), tmp_path)
    assert [(line["update"], line["groups"]) for line in lines(tmp_path)] == [(1, 2), (2, 2)]
    assert load_policy(tmp_path / "policy").renderer.stop > 0


def test_a_kl_penalty_counts_from_the_policy_after_imitation_also_when_resumed(inputs, tmp_path, monkeypatch):
    def rewarded(group, _estimator):
        rows = [row for rollout in group.rollouts for row in rollout.rows]
        return [Example(row, np.where(row.mask, (-1.0) ** place, 0.0)) for place, row in enumerate(rows)]

    monkeypatch.setattr(_reinforce, "make_examples", rewarded)
    held = settings(inputs, 1)
    loss = held.grpo.loss.model_copy(update={"kl": "k3", "kl_weight": 0.1})
    rate = OptimizerSettings(learning_rate=1e-2)
    grpo = held.grpo.model_copy(update={"loss": loss, "optimizer": rate, "mini_batches": 2})
    held = held.model_copy(update={"grpo": grpo})
    train(held, tmp_path)
    train(held.model_copy(update={"grpo": grpo.model_copy(update={"updates": 2})}), tmp_path)
    first, second = (line["kl"] for line in lines(tmp_path))
    assert 0 <= first < second


def test_sampler_and_trainer_agree(unbroken):
    assert all(abs(line["sampler_kl"]) < 1e-4 for line in lines(unbroken[0]))
    assert all(line["sampler_kl_k3"] < 1e-6 for line in lines(unbroken[0]))
    assert [line["prefix_breaks"] for line in lines(unbroken[0])] == [0, 0]


def test_its_episodes_can_be_exported_and_hold_no_prefix_break(unbroken, tmp_path):
    left_out = Counter()
    episodes = list(selected_episodes(unbroken[0], Selection(), left_out))
    assert len(episodes) + left_out.total() == 8
    found = TokenStatistics.of_all(episodes)
    assert (found.told, found.rows, found.breaks) == (len(episodes), len(episodes), 0)
    assert export_episodes(unbroken[0], tmp_path / "out", "sft", Selection()).kept == len(episodes)


def test_another_training_is_refused(inputs, unbroken):
    other = settings(inputs, 2).model_copy(update={"seed": 1})
    with pytest.raises(BadInput, match="other settings"):
        train(other, unbroken[0])


def test_a_split_leaves_its_training_tasks(inputs, tmp_path):
    for name in ("iris", "wine"):
        materialize(get_seed(name), tmp_path)
    asked = settings(inputs, 1).model_copy(update={"tasks": tmp_path, "split": "paper"})
    with pytest.raises(BadInput, match="no such split"):
        train(asked, tmp_path / "out")
    (tmp_path / "splits").mkdir()
    split = split_tasks(bare_traits(load_tasks(tmp_path)), "iid", "1", 0)
    (tmp_path / "splits" / "paper.json").write_text(split.to_text())
    assert tuple(task.id for task in training_tasks(asked)) == split.train
    (tmp_path / "splits" / "paper.json").write_text(split.model_copy(update={"tasks_hash": "else"}).to_text())
    with pytest.raises(BadInput, match="made of other tasks than are there now"):
        training_tasks(asked)
    gone = split.model_copy(update={"train": ("gone",)})
    (tmp_path / "splits" / "paper.json").write_text(gone.to_text())
    with pytest.raises(BadInput, match="names gone, which is not there"):
        training_tasks(asked)


@pytest.mark.parametrize(
    ("change", "limits", "worth"),
    [
        ({}, {}, True),
        ({"grade": None}, {}, True),
        ({"grade": None}, {"valid": True}, False),
        ({"reward": None}, {"min_reward": 0.1}, False),
        ({"leaked": True}, {}, False),
    ],
)
def test_which_episodes_are_worth_imitating(inputs, monkeypatch, change, limits, worth):
    run = read_run(inputs / "run")
    changed = replace(run, episodes=tuple(each.model_copy(update=change) for each in run.episodes))
    monkeypatch.setattr(_imitate, "read_run", lambda _: changed)
    found = list(_imitate.read_episodes([inputs / "run"], **{"min_reward": 0.0, **limits}))
    assert len(found) == (len(run.episodes) if worth else 0)


def test_every_bundled_config_loads():
    assert bundled_configs()
    for name in bundled_configs():
        TrainSettings.load(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = -1", "seed"),
        ("[grpo]\nestimator = {name = 'magic'}", "grpo.estimator: name must be one of best-of, grpo"),
        ("nonsense = 1", "nonsense"),
        ("[grpo]\nestimator = {name = 'grpo', std = 'both'}", "grpo.estimator: .*'grpo': std"),
        ("[grpo]\nbatching = 'lockstep'\ngroups.max_staleness = 1", "grpo: groups.max_staleness: nothing runs ahead"),
        ("[grpo.rollouts]\nreward = 'nope'", "grpo.rollouts: .*nope"),
        ("[grpo.rollouts]\nscaffolds = ['nope']", "grpo.rollouts: .*nope"),
        ("= broken", "no TOML"),
    ],
)
def test_a_wrong_config_is_explained_in_one_line(tmp_path, text, says):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=says):
        TrainSettings.load(str(path))


def test_a_config_that_is_not_there_lists_those_that_are():
    with pytest.raises(BadInput, match="tiny-cpu"):
        TrainSettings.load("no-such-config")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "nothing to do"),
        ({"grpo": GrpoSettings()}, "model.path is not set"),
        ({"sft": SftSettings()}, "nothing|no"),
    ],
)
def test_a_training_that_can_not_work_is_refused_at_once(tmp_path, given, says):
    with pytest.raises(BadInput, match=says):
        train(TrainSettings(**given), tmp_path / "out")


def test_a_table_that_names_one_setting_leaves_the_others_as_they_are():
    settings = SftSettings.model_validate({"optimizer": {"micro_batch_tokens": 512}})
    assert settings.optimizer == SftSettings().optimizer.model_copy(update={"micro_batch_tokens": 512})
