"""An exported task gives MLE-bench the scores and thresholds that are ours, here through stand-ins for its modules."""

from __future__ import annotations

import csv
import importlib.util
import sys
import types
from pathlib import Path

import pandas as pd
import pytest
import yaml

import sandmle
from sandmle.errors import BadInput
from sandmle.eval.acceptance.evaluator_probe import bad_submissions, random_submissions
from sandmle.eval.export import export_mlebench
from sandmle.eval.grading.medals import board_lower_is_better, board_score, thresholds_from_leaderboard
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task

pytestmark = pytest.mark.flow


class InvalidSubmissionError(Exception):
    """Stands for MLE-bench's."""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    (task,) = sandmle.generate_tasks(["iris"], 1, out=tmp_path_factory.mktemp("tasks"), seed=11, n_test=500)
    return task


@pytest.fixture(scope="module")
def exported(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    export_mlebench([task], out)
    (out / ".scratch-of-a-killed-one" / "data").mkdir(parents=True)
    export_mlebench([task], out)
    return out


@pytest.fixture
def grade(task: Task, exported: Path, monkeypatch: pytest.MonkeyPatch):
    helpers = types.ModuleType("mlebench.grade_helpers")
    helpers.InvalidSubmissionError = InvalidSubmissionError
    monkeypatch.setitem(sys.modules, "mlebench", types.ModuleType("mlebench"))
    monkeypatch.setitem(sys.modules, "mlebench.grade_helpers", helpers)
    spec = importlib.util.spec_from_file_location("grade", exported / "competitions" / task.id / "grade.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.grade


def test_the_board_gives_the_thresholds_back(task: Task, exported: Path) -> None:
    board = [float(score) for score in (exported / f"competitions/{task.id}/leaderboard.csv").read_text().split()[1:]]
    assert len(board) == 10
    given, wanted = thresholds_from_leaderboard(board), task.manifest.thresholds
    assert given.model_dump() == {name: board_score(value) for name, value in wanted.model_dump().items()}
    assert board_lower_is_better(board) is task.manifest.lower_is_better


def test_the_entry_names_what_is_there_and_no_canary(task: Task, exported: Path) -> None:
    entry, data = exported / "competitions" / task.id, exported / "data"
    config = yaml.safe_load((entry / "config.yaml").read_text())
    assert config["id"] == task.id
    for path in config["dataset"].values():
        assert (data / path).is_file()
    assert (data / task.id / "prepared/public/description.md").read_text() == (entry / "description.md").read_text()
    with (data / config["dataset"]["answers"]).open() as stream:
        assert "canary" not in next(csv.reader(stream))
    assert sorted(path.name for path in exported.iterdir()) == [".sandmle", "competitions", "data"]


def test_scores_are_ours(task: Task, exported: Path, grade, tmp_path: Path) -> None:
    answers = pd.read_csv(exported / "data" / task.id / "prepared/private/answers.csv")
    sample, form = pd.read_csv(task.public / "sample_submission.csv"), task.manifest.submission
    good = random_submissions(sample, form, 4, 1, (0.0, 1.0))
    bad = bad_submissions(sample, form)
    for number, data in enumerate([*good, *(bad[name] for name in ("missing_rows", "duplicate_ids", "header_only"))]):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(data)
        ours = sandmle.grade(task, path)
        if ours.valid:
            assert grade(pd.read_csv(path), answers) == pytest.approx(ours.score, abs=1e-12)
        else:
            with pytest.raises(InvalidSubmissionError, match=ours.error.value):
                grade(pd.read_csv(path), answers)


def test_a_real_task_has_no_board(tmp_path: Path) -> None:
    task = materialize(get_seed("iris"), tmp_path / "tasks")
    with pytest.raises(BadInput, match="only synthetic tasks"):
        export_mlebench([task], tmp_path / "out")
    assert not (tmp_path / "out").exists()
