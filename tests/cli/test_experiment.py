"""What ``sandmle train`` and ``sandmle experiment`` refuse before anything is made."""

import json
from pathlib import Path

import pytest

from sandmle.cli.experiment import experiment_command
from sandmle.cli.train import train_command
from sandmle.errors import BadInput


def test_controls_are_for_experiments(tmp_path):
    with pytest.raises(BadInput, match="--controls: tiny-cpu is not an experiment"):
        train_command("tiny-cpu", tmp_path / "out", controls=True)
    assert not (tmp_path / "out").exists()


def test_a_training_needs_a_folder():
    with pytest.raises(BadInput, match="--out DIR is missing"):
        train_command("tiny-cpu", None)


def test_seeds_are_numbers_and_differ(tmp_path):
    with pytest.raises(BadInput, match="--seeds: give numbers"):
        experiment_command("demo-cpu", tmp_path / "out", seeds="0,one")
    with pytest.raises(BadInput, match="named twice"):
        experiment_command("demo-cpu", tmp_path / "out", seeds="1,1")


def test_tasks_that_are_not_there_leave_nothing_behind(tmp_path):
    pytest.importorskip("torch", reason="needs the extra train")
    with pytest.raises(BadInput, match="no such folder"):
        experiment_command("demo-cpu", tmp_path / "out", tasks=tmp_path / "none")
    assert not (tmp_path / "out").exists()


def test_an_experiment_that_is_not_there_lists_the_bundled_ones(tmp_path):
    with pytest.raises(BadInput, match="demo-cpu"):
        experiment_command("nowhere.toml", tmp_path / "out")


def test_a_file_of_another_kind_is_told_apart(tmp_path):
    with pytest.raises(BadInput, match=r"tiny-cpu: this is a config of our trainer, not an experiment"):
        experiment_command("tiny-cpu", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_train_takes_an_experiment_by_its_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[[arms]]\nnme = "sft"\n')
    with pytest.raises(BadInput) as caught:
        train_command(str(file), tmp_path / "out")
    assert f"{file}: tasks: is missing" in str(caught.value).splitlines()
    assert f"{file}: arms.0.nme: there is no such setting; did you mean 'name'?" in str(caught.value).splitlines()


def test_a_dry_run_prints_the_settings_with_what_was_asked_and_makes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train_command("demo-cpu", seed=7, updates=3, dry_run=True)
    experiment = json.loads(capsys.readouterr().out)
    assert (experiment["seeds"], experiment["train"]["grpo"]["updates"]) == ([7], 3)
    train_command("tiny-cpu", seed=7, updates=3, tasks=tmp_path / "mine", dry_run=True)
    config = json.loads(capsys.readouterr().out)
    assert (config["seed"], config["grpo"]["updates"], config["tasks"]) == (7, 3, str(tmp_path / "mine"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("config", "option", "says"),
    [
        ("tiny-cpu", {"recipe": "seed-sft"}, "--recipe: tiny-cpu is not a recipe"),
        ("demo-cpu", {"as_json": True}, "--json: demo-cpu is not a recipe"),
        ("qwen3-8b", {"controls": True}, "--controls: qwen3-8b is not an experiment"),
        ("demo-cpu", {"seed": -5}, "seeds.0: should be greater than or equal to 0, not -5"),
        ("tiny-cpu", {"seed": -5, "out": Path("out")}, "seed: should be greater than or equal to 0, not -5"),
    ],
)
def test_what_a_file_does_not_take_is_refused(tmp_path, monkeypatch, config, option, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=says):
        train_command(config, **option)
    assert not list(tmp_path.iterdir())
