"""The unmodified trainer of rLLM over our adapter: real sandboxes, real tasks, its gateway, on a CPU.

What it learns from is what our own trainer would: tokens, rewards, masks, groups and advantages.
"""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rllm.trainer.unified_trainer", reason="rllm is not installed")
pytest.importorskip("torch", reason="needs the extra train")

from rllm_backends import Barren, Broken, Refused, Stuck, assert_ours
from rllm_contract import GROUP as RECORDED
from rllm_contract import make_inputs, plain, settings, train
from rllm_example import played, turn

from sandmle.cli import run
from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.rl.checkpoints import load_policy
from sandmle.rl.exports import export_tasks
from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.episodes import as_rllm, stamped
from sandmle.rl.rllm.local import Unified
from sandmle.rl.rllm.recipe import Recipe
from sandmle.rl.rllm.records import TRAJECTORY
from sandmle.rl.rows import sampled_rows
from sandmle.rl.trainer.training import atrain
from sandmle.sandboxes import LocalBackend
from sandmle.trajectory import MASKED_STATUSES, EpisodeStatus

UPDATES, TASKS, GROUP = 5, 2, 4


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return make_inputs(tmp_path_factory.mktemp("contract"))


@pytest.fixture(scope="module", params=["rllm", "ours"])
def trained(request, inputs):
    """Five updates, with rLLM's own advantages and with ours."""
    out = inputs / request.param
    return out, *train(settings(inputs, UPDATES), out, advantages=request.param)


def test_five_updates_are_made_and_change_the_policy(trained, inputs):
    out, _, metrics = trained
    assert [line["update"] for line in metrics] == [1, 2, 3, 4, 5]
    assert all(line["rollouts"] == TASKS * GROUP and line["rollouts_masked"] == 0 for line in metrics)
    assert any(line["grad_norm"] > 0 for line in metrics)
    assert all(abs(line["sampler_kl"]) < 1e-4 for line in metrics)
    before, after = (load_policy(out / each).model.state_dict() for each in ("sft", "policy"))
    assert any(not before[name].equal(after[name]) for name in after)


def test_metrics_are_those_of_our_own_loop(trained):
    _, held, metrics = trained
    for update, line in zip(held, metrics, strict=True):
        assert line["groups"] == line["groups_kept"] == TASKS
        assert line["sampled"] == line["tokens"] > 0
        assert line["sandbox_runs"] == sum(rollout.runs for group in update.ours for rollout in group.rollouts)
        assert line["rollout_s"] + line["update_s"] == pytest.approx(update.step_s)
    assert sum(line["sandbox_s"] for line in metrics) > 0


def test_what_their_loop_can_not_do_is_refused(inputs, tmp_path):
    asked = settings(inputs, 1)
    lockstep = asked.grpo.model_copy(update={"batching": "lockstep"})
    with pytest.raises(BadInput, match="rLLM's loop can't do that"):
        asyncio.run(Unified()(None, asked, lockstep, [], tmp_path, None, None))


def test_rewards_are_the_graders_and_differ(trained):
    _, held, _ = trained
    rewards = []
    for update in held:
        for episode in update.episodes:
            (trajectory,) = episode.trajectories
            assert trajectory.reward == pytest.approx(trajectory.output.reward.total)
            assert sum(step.reward for step in trajectory.steps) == pytest.approx(trajectory.reward)
            rewards.append(trajectory.reward)
    assert len(set(rewards)) > 2


def test_a_task_is_a_group_and_each_turn_knows_its_weights(trained):
    _, held, _ = trained
    for version, update in enumerate(held):
        assert len({group.group_id for group in update.groups}) == TASKS
        for group in update.groups:
            assert group.group_role == TRAJECTORY
            assert {each.output.task_id for each in group.trajectories} == {group.task_id}
            assert len(group.trajectories) == GROUP
            for trajectory in group.trajectories:
                assert [step.weight_version for step in trajectory.steps] == [version] * len(trajectory.steps)
                assert [turn.weight_version for turn in trajectory.output.turns] == [version] * len(trajectory.steps)


def test_tokens_masks_and_advantages_are_ours(trained):
    _, held, _ = trained
    found = [assert_ours(update) for update in held]
    assert all(len(examples) == TASKS * GROUP for examples in found)
    assert any(np.abs(example.advantages).max() > 0.1 for examples in found for example in examples)
    step = held[0].groups[0].trajectories[0].steps[0]
    tokens = held[0].groups[0].trajectories[0].output.turns[0].tokens
    assert (tuple(step.prompt_ids), tuple(step.response_ids)) == (tokens.prompt_ids, tokens.completion_ids)
    assert tuple(step.logprobs) == pytest.approx(tokens.logprobs)


def test_what_our_infrastructure_broke_is_masked_and_leaves_the_baseline(inputs, tmp_path):
    backend = LocalBackend(allow_unisolated=True)
    (update,), (line,) = train(settings(inputs, 1), tmp_path, Broken(backend), advantages="rllm")
    (lost,) = [each for each in update.episodes if each.termination_reason.value == "error"]
    assert lost.info["status"] == "infra_error"
    assert [trajectory.steps for trajectory in lost.trajectories] == [[]]
    assert (line["rollouts"], line["rollouts_masked"]) == (TASKS * GROUP - 1, 1)
    assert sorted(len(group.trajectories) for group in update.groups) == [GROUP - 1, GROUP]
    assert_ours(update)


@pytest.mark.parametrize("way", ["flow", "workflow"])
def test_a_stuck_sandbox_stalls_no_update(inputs, tmp_path, way):
    asked = settings(inputs, 1)
    rollouts = asked.grpo.rollouts.model_copy(update={"deadline_s": 1.0})
    asked = asked.model_copy(update={"grpo": asked.grpo.model_copy(update={"rollouts": rollouts})})
    (update,), (line,) = train(asked, tmp_path, Stuck(LocalBackend(allow_unisolated=True)), way=way)
    lost = [each for each in update.episodes if each.info["status"] == "cancelled"]
    assert (line["rollouts"], line["rollouts_cut"]) == (TASKS * GROUP - len(lost), len(lost))
    assert line["rollouts_masked"] == 0
    assert lost
    assert all(not trajectory.steps for each in lost for trajectory in each.trajectories)
    assert sum(len(group.trajectories) for group in update.groups) == TASKS * GROUP - len(lost)
    assert_ours(update)


def test_a_batch_that_our_infrastructure_broke_ends_the_training(inputs, tmp_path):
    with pytest.raises(EnvironmentProblem, match=r"^every rollout of an update failed .*infra_error 8"):
        train(settings(inputs, 1), tmp_path, Barren())
    assert not list((tmp_path / "tokens").glob("*"))


@pytest.mark.parametrize("scaffold", ["aide", "mle-agent"])
def test_scaffolds_that_prompt_anew_teach_the_same(inputs, tmp_path, scaffold):
    asked = settings(inputs, 1, group=2)
    rollouts = asked.grpo.rollouts.model_copy(update={"scaffolds": (scaffold,)})
    asked = asked.model_copy(update={"grpo": asked.grpo.model_copy(update={"rollouts": rollouts})})
    (update,), (line,) = train(asked, tmp_path)
    assert {each.trajectories[0].output.scaffold for each in update.episodes} == {scaffold}
    assert line["rollouts"] == TASKS * 2
    assert len(assert_ours(update)) >= TASKS * 2


def verl_batch(episodes, max_prompt, max_response):
    """What verl is given to learn from."""
    pytest.importorskip("verl", reason="verl is not installed")
    from rllm.trainer.verl.transform import transform_episodes_to_dataproto

    engine = SimpleNamespace(tokenizer=SimpleNamespace(pad_token_id=0))
    return transform_episodes_to_dataproto(episodes, engine, max_prompt, max_response)


def test_verl_is_given_our_rows_and_masks():
    episode = played()
    batch = verl_batch([as_rllm(episode)], 8, 8)
    rows = sampled_rows(episode).rows
    assert len(rows) == len(batch) == 2
    for row, theirs in zip(rows, batch, strict=True):
        here = theirs.batch["attention_mask"].bool()
        sampled = theirs.batch["response_mask"].bool()
        assert theirs.batch["input_ids"][here].tolist() == row.token_ids.tolist()
        assert theirs.batch["responses"][sampled].tolist() == row.token_ids[row.mask].tolist()
        assert theirs.batch["rollout_log_probs"][sampled].tolist() == row.sampler_logprobs[row.mask].tolist()
        assert theirs.non_tensor_batch["step_ids"] == episode.id


def test_verl_cuts_no_prompt_that_a_recipe_lets_through():
    recipe = Recipe.load("qwen3-8b", {"play": {"prompt_tokens": 8, "response_tokens": 24}})
    (stage,) = compose(recipe)
    limits = [stage.effective[f"data.max_{part}_length"] for part in ("prompt", "response")]
    late = turn(1, tuple(range(2, 32)), (32, 33), anew=True)
    (_, row) = verl_batch([as_rllm(played(turns=(turn(0, (1, 2), (3, 4)), late)))], *limits)
    assert row.batch["input_ids"][row.batch["attention_mask"].bool()].tolist() == list(range(2, 34))


def test_verl_learns_from_no_masked_episode():
    batch = verl_batch([as_rllm(played(status)) for status in EpisodeStatus], 8, 8)
    kept = set(EpisodeStatus) - MASKED_STATUSES
    assert len(batch) == 2 * len(kept)
    assert not {"timeout", "error"} & set(batch.non_tensor_batch["termination_reasons"])


def test_a_workflow_plays_the_same_without_the_gateway(inputs, tmp_path):
    (update,), (line,) = train(settings(inputs, 1), tmp_path, way="workflow")
    assert line["rollouts"] == TASKS * GROUP
    assert abs(line["sampler_kl"]) < 1e-4
    for episode in update.episodes:
        (trajectory,) = episode.trajectories
        assert trajectory.output.status.value != "infra_error"
        assert [step.weight_version for step in trajectory.steps] == [0] * len(trajectory.steps)


def test_a_training_goes_on_where_it_was_stopped_and_stays_with_its_trainer(inputs, tmp_path):
    (first,), _ = train(settings(inputs, 1), tmp_path)
    later, metrics = train(settings(inputs, 3), tmp_path)
    assert [line["update"] for line in metrics] == [2, 3]
    for epoch, update in enumerate((first, *later)):
        numbers = [each.trajectories[0].output.repeat for each in update.episodes]
        assert sorted(numbers) == list(range(epoch * TASKS * GROUP, (epoch + 1) * TASKS * GROUP))
    with pytest.raises(BadInput, match="holds a training of the trainer rllm"):
        asyncio.run(atrain(settings(inputs, 3), tmp_path, allow_unisolated=True))


@pytest.mark.parametrize("way", ["flow", "workflow"])
def test_what_only_the_user_can_mend_ends_the_training(inputs, tmp_path, way):
    with pytest.raises(EnvironmentProblem, match="no isolation here"):
        train(settings(inputs, 1), tmp_path, Refused(), way=way)


def toml(table, path=""):
    """A table of settings as lines of TOML, what it holds itself before the tables in it."""
    inside = {name: value for name, value in table.items() if isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items() if name not in inside]
    return [*lines, *(line for name in inside for line in [f"[{path}{name}]", *toml(inside[name], f"{path}{name}.")])]


@pytest.mark.slow
def test_the_command_line_trains_a_config_in_rllms_loop(inputs, tmp_path, monkeypatch, capsys):
    config, out = tmp_path / "config.toml", tmp_path / "out"
    asked = settings(inputs, 1, group=2).model_dump(mode="json", exclude_defaults=True)
    config.write_text("\n".join(toml(asked)))
    line = ["train", config, "--trainer", "rllm", "--backend", "local", "--out", out, "--allow-unisolated"]
    monkeypatch.setattr("sys.argv", ["sandmle", *map(str, line)])
    with pytest.raises(SystemExit) as ended:
        run()
    assert not ended.value.code
    assert f"{out / 'policy'}: the trained policy" in capsys.readouterr().out
    assert load_policy(out / "policy").model


def test_a_turn_that_the_gateway_did_not_see_is_refused():
    episode = played()
    steps = as_rllm(episode).trajectories[0].steps
    assert [turn.weight_version for turn in stamped(episode, steps).turns] == [2, 2, 2]
    with pytest.raises(InfraError, match="turn 1: rLLM's gateway has no record of just these tokens"):
        stamped(episode, [steps[0], steps[2]])


def test_their_registry_reads_our_dataset(inputs, tmp_path, monkeypatch):
    from rllm.data import DatasetRegistry

    export_tasks(inputs / "tasks", tmp_path / "home", "rllm")
    monkeypatch.setattr(DatasetRegistry, "_RLLM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(DatasetRegistry, "_REGISTRY_FILE", str(tmp_path / "home/datasets/registry.json"))
    monkeypatch.setattr(DatasetRegistry, "_DATASET_DIR", str(tmp_path / "home/datasets"))
    rows = DatasetRegistry.load_dataset("sandmle", "train").get_data()
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert {row["place"] for row in rows} == {0, 1}


def test_the_recorded_group_has_the_shape_of_a_real_one(inputs, tmp_path):
    (update,), _ = train(settings(inputs, 1, group=2), tmp_path, advantages="rllm")
    recorded = json.loads(RECORDED.read_text())[0]["theirs"]
    assert _shape(json.loads(json.dumps(plain(update.episodes[0])))) == _shape(recorded)


def _shape(value):
    """Names and types, lists by their first element."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items() if name not in ("action", "metrics")}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return type(value).__name__
