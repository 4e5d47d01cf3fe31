"""Experiments as files: what is refused, and how an arm changes a training."""

import pytest

from sandmle.errors import BadInput
from sandmle.rl.experiments import ExperimentSettings, bundled_experiments
from sandmle.rl.experiments._constants import ConstantScore, best_constant, parse_recipe
from sandmle.rl.experiments._settings import merged

TASKS = """
[tasks]
seeds = ["iris"]
other_seeds = ["wine"]
constants = ["last/shared/none/dummies/filled/none/linear"]
"""
ARM = "[[arms]]\nname = 'sft'\nsource = 'imitation'\n"
TRAIN = "[train.sft]\n[train.grpo]\n"


def load(tmp_path, text):
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    return ExperimentSettings.load(str(path))


def test_the_demo_declares_every_control():
    arms = {arm.name: arm for arm in ExperimentSettings.load("demo-cpu").arms}
    assert [name for name, arm in arms.items() if not arm.control] == ["sft", "grpo"]
    assert {name for name, arm in arms.items() if arm.control} == {
        "sft-best-temperature",
        "rejection-sampling",
        "execution-only",
        "permuted",
        "constant",
        "grpo-other-brief",
    }


def test_controls_sample_and_run_as_much_as_grpo():
    settings = ExperimentSettings.load("demo-cpu")
    assert (settings.match.arm, settings.match.costs) == ("grpo", ("tokens", "sandbox_runs"))
    own = settings.train.grpo
    for arm in settings.arms:
        changed = merged(settings.train, arm.change).grpo
        assert (changed.updates, changed.batch, changed.rollouts.group) == (own.updates, own.batch, own.rollouts.group)
        assert changed.rollouts.sampling == own.rollouts.sampling


def test_the_constants_of_every_bundled_experiment_are_recipes():
    for name in bundled_experiments():
        assert all(parse_recipe(text) for text in ExperimentSettings.load(name).tasks.constants)


def test_a_change_is_merged_into_its_table():
    train = ExperimentSettings.load("demo-cpu").train
    changed = merged(train, {"grpo": {"rollouts": {"reward": "execution"}}})
    assert changed.grpo.rollouts.reward == "execution"
    assert changed.grpo.rollouts.model_copy(update={"reward": "paper"}) == train.grpo.rollouts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TASKS + TRAIN + ARM + ARM, "two arms have one name"),
        ("baseline = 'grpo'\n" + TASKS + TRAIN + ARM, "baseline 'grpo' is no arm"),
        (TASKS + "[train.sft]\n" + ARM, "needs .train.sft. and .train.grpo."),
        (TASKS + TRAIN + ARM + "[[arms]]\nname = 'x'\nof = 'y'\n", "is of 'y', which is no arm before it"),
        (TASKS + TRAIN + ARM + "change.seed = 1\n", "changes a training but has none"),
        (TASKS + TRAIN + ARM + "[[arms]]\nname = 'x'\nchange.nonsense = 1\n", "nonsense"),
        (TASKS + TRAIN + "[match]\narm = 'sft'\n" + ARM, "'sft' is no arm that trains"),
        (TASKS + TRAIN + "optimizer.decay = true\n[match]\narm = 'x'\n" + ARM + "[[arms]]\nname = 'x'\n", "level"),
        (TASKS + TRAIN + ARM + "[[arms]]\nname = 'imitation'\n", "arms.1.name: 'imitation' is the folder"),
        ("= broken", "no TOML"),
    ],
)
def test_a_wrong_file_is_explained_in_one_line(tmp_path, text, says):
    with pytest.raises(BadInput, match=says):
        load(tmp_path, text)


def test_a_file_that_is_not_there_lists_what_is():
    with pytest.raises(BadInput, match="demo-cpu"):
        ExperimentSettings.load("no-such-experiment")


@pytest.mark.parametrize("text", ["last/shared", "last/shared/none/dummies/filled/none/magic"])
def test_a_wrong_constant_names_what_there_is(text):
    with pytest.raises(BadInput, match="model"):
        parse_recipe(text)


def test_the_best_constant_is_chosen_on_training_tasks_alone():
    def score(task, recipe, reward):
        return ConstantScore(
            task_id=task, content_hash="", recipe=recipe, reward=reward, valid=True, gold=False, sandbox_s=0
        )

    scores = [score("train", "a", 0.5), score("train", "b", 0.4), score("held", "a", 0.0), score("held", "b", 1.0)]
    assert best_constant(scores, ["train"]) == "a"
