"""What ``sandmle train`` and ``sandmle experiment`` refuse before anything is made."""

import pytest

from sandmle.cli.experiment import experiment_command
from sandmle.cli.train import train_command
from sandmle.errors import BadInput


def test_controls_are_for_experiments(tmp_path):
    with pytest.raises(BadInput, match="tiny-cpu is no experiment, as demo-cpu is"):
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
