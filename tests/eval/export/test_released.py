"""Exported in the released layout and brought in again: the same data, thresholds and scores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sandmle
from sandmle.eval.acceptance.evaluator_probe import random_submissions
from sandmle.eval.grading import grade_bytes
from sandmle.files import hash_tree
from sandmle.task import Task

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    (task,) = sandmle.generate_tasks(["iris"], 1, out=tmp_path_factory.mktemp("tasks"), seed=11, n_test=500)
    return task


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from sandmle.cli import run; run()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_there_and_back_again(task: Task, tmp_path: Path) -> None:
    bundle, tasks = tmp_path / "bundle", tmp_path / "tasks"
    done = command("export", "tasks", "--format", "released", str(task.root), str(bundle))
    assert done.returncode == 0, done.stderr
    public = {path.name for path in (bundle / task.id / "prepared/public").rglob("*")}
    assert not {"answers.csv", "answer.csv", "evaluator.py"} & public
    assert json.loads((bundle / "ok_competitions_sanity.json").read_text()) == [task.id]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=bundle, check=True)
    done = command("import", str(bundle), "--out", str(tasks), "--allow-unisolated")
    assert done.returncode == 0, done.stdout + done.stderr
    back = Task.load(tasks / task.id)
    assert hash_tree(back.public) == hash_tree(task.public)
    assert back.answers.read_bytes() == task.answers.read_bytes()
    assert back.manifest.thresholds == task.manifest.thresholds
    assert (back.manifest.metric, back.manifest.submission) == (task.manifest.metric, task.manifest.submission)
    sample = pd.read_csv(task.public / "sample_submission.csv")
    for data in random_submissions(sample, task.manifest.submission, 6, 3, (0.0, 1.0)):
        assert grade_bytes(back, data).model_dump() == grade_bytes(task, data).model_dump()
    assert command("check", str(tasks), "--allow-unisolated").returncode == 0
    (bundle / task.id / "prepared/public/test.csv").write_text("id\n1\n")
    done = command("import", str(bundle), "--out", str(tmp_path / "again"), "--allow-unisolated")
    assert (done.returncode, "test.csv was changed" in done.stdout) == (1, True)
    assert [path for path in (tmp_path / "again").iterdir() if path.name != ".sandmle"] == []
