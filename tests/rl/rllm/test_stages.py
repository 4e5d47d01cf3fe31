"""What the stages of a recipe are given: demonstrations, the tuned weights, and how episodes are played."""

import json

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.demonstrations import LINES, as_parquet
from sandmle.rl.rllm.on_verl import link_policy, playing_of, sft_command
from sandmle.rl.rllm.recipe import Recipe

parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra train")

MESSAGES = [{"role": "user", "content": "the task"}, {"role": "assistant", "content": "é"}]


def write(folder, **fields):
    row = {"messages": MESSAGES, "loss": [0, 1], "episode": "e"} | fields
    (folder / LINES).write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    return folder / LINES


def test_the_folder_or_the_file_of_an_export_becomes_parquet(tmp_path):
    lines = write(tmp_path)
    for source in (lines, tmp_path):
        made = as_parquet(source, tmp_path / "sft" / "demonstrations.parquet")
        assert parquet.read_table(made).to_pylist() == [{"messages": MESSAGES}]
    assert as_parquet(made, tmp_path / "else.parquet") == made


def test_what_is_no_end_of_a_line_in_json_is_none(tmp_path):
    reply = {"role": "assistant", "content": "one\u2028two\x85three"}
    made = as_parquet(write(tmp_path, messages=[MESSAGES[0], reply]), tmp_path / "out.parquet")
    assert parquet.read_table(made).to_pylist() == [{"messages": [MESSAGES[0], reply]}]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"loss": [1]}, "line 1: no conversation .ValueError: loss has 1 entries for 2 messages"),
        ({"loss": 1}, "line 1: no conversation"),
        ({"loss": [0, 0]}, "line 1: a reply is left out of the loss.* without --mask-failed"),
        ({"messages": [{"role": "user"}]}, "line 1: no conversation"),
    ],
)
def test_what_the_trainer_can_not_learn_from_is_said(tmp_path, fields, says):
    with pytest.raises(BadInput, match=says):
        as_parquet(write(tmp_path, **fields), tmp_path / "out.parquet")


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(BadInput, match="no such file; `sandmle export episodes RUN OUT --format sft`"):
        as_parquet(tmp_path / "nothing", tmp_path / "out.parquet")


def test_the_trainer_is_given_the_file_that_is_made(tmp_path):
    recipe = Recipe.load("qwen3-8b", {"recipe": "seed-sft", "out": tmp_path, "sft": {"demonstrations": "exported"}})
    (stage,) = compose(recipe)
    assert f"data.train_files={tmp_path}/sft/demonstrations.parquet" in sft_command(stage)
    assert sft_command(stage)[1:5] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=8"]


def test_reinforcement_goes_on_from_the_last_checkpoint(tmp_path):
    tuned = tmp_path / "tuned" / "policy"
    recipe = Recipe.load("qwen3-8b", {"recipe": "sft+rl", "out": tmp_path / "out", "sft": {"policy": tuned}})
    with pytest.raises(EnvironmentProblem, match="no global_step_N/huggingface"):
        link_policy(recipe)
    for step in (9, 10):
        (tmp_path / "out" / "sft" / f"global_step_{step}" / "huggingface").mkdir(parents=True)
    link_policy(recipe)
    assert tuned.resolve().parent.name == "global_step_10"
    (tmp_path / "out" / "sft" / "global_step_11" / "huggingface").mkdir(parents=True)
    link_policy(recipe)
    assert tuned.resolve().parent.name == "global_step_11"


def test_reinforcement_never_begins_with_the_weights_of_another_training(tmp_path):
    recipes = [Recipe.load("qwen3-8b", {"recipe": "sft+rl", "out": tmp_path / name}) for name in ("one", "other")]
    assert len({compose(recipe)[1].overrides["actor_rollout_ref.model.path"] for recipe in recipes}) == 2
    one, other = recipes
    one.tuned.parent.mkdir(parents=True)
    one.tuned.symlink_to(tmp_path / "gone")
    (one.out / "sft" / "global_step_1" / "huggingface").mkdir(parents=True)
    link_policy(one)
    assert one.tuned.resolve() == one.out / "sft" / "global_step_1" / "huggingface"
    other.tuned.mkdir(parents=True)
    with pytest.raises(BadInput, match="there are weights already, and none of this recipe's stage sft"):
        link_policy(other)


def test_a_recipe_says_how_episodes_are_played():
    play = {"reply_tokens": 100, "episode_seconds": 600.0, "deadline_seconds": 300.0, "give_up_seconds": 400.0}
    playing = playing_of(Recipe.load("qwen3-8b", {"play": play, "recipe": "sft+rl"}), tasks=912)
    assert playing.settings.wall_seconds == 600
    assert (playing.settings.deadline_s, playing.settings.give_up_s) == (300, 400)
    assert playing.settings.sampling.max_new_tokens == 100
    assert (playing.settings.sampling.max_tokens, playing.settings.group) == (40_960, 4)
    assert playing.weights == "training/sft/policy"
