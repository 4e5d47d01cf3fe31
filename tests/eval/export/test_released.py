"""Exported in the released layout and brought in again: the same data, thresholds and scores."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sandmle
from sandmle.agents.procedural.engineer import ProceduralEngineer
from sandmle.agents.roles import TaskPlan
from sandmle.canary import canary
from sandmle.errors import BadInput
from sandmle.eval.acceptance.evaluator_probe import random_submissions
from sandmle.eval.export import export_released
from sandmle.eval.grading import grade_bytes
from sandmle.eval.imports import import_released
from sandmle.files import hash_tree
from sandmle.sandboxes import LocalBackend
from sandmle.submission import SubmissionFormat
from sandmle.task import Lineage, MadeBy, StructuralDNA, Task, TaskManifest, Thresholds

ID = "hand-made-0123abcd"
ROWS = 60
PLAN = TaskPlan(
    task_id=ID,
    candidate=0,
    title="Hand-made",
    modality="tabular",
    problem_type="regression",
    metric="rmse",
    target="y",
    submission=SubmissionFormat(id_column="row", prediction_columns=("y",), kind="number"),
    dna=StructuralDNA(
        modality="tabular", problem_type="regression", metric="rmse", n_rows=99, n_numeric=1, n_categorical=0
    ),
    train_seeds=(1,),
    test_seed=2,
    n_train=20,
    n_test=100,
    rule_terms=(),
    details={},
)
TIERS = Thresholds(median=1.2, bronze=0.8, silver=0.5, gold=0.2)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """Sixty test rows by hand, with the evaluator that the procedural team writes."""
    root = tmp_path / "tasks" / ID
    public, answers = root / "prepared/public", root / "prepared/private/answers.csv"
    for folder in (public / "pictures", answers.parent, root / "provenance"):
        folder.mkdir(parents=True)
    x = np.random.default_rng(0).normal(size=ROWS).round(3)
    rows = pd.DataFrame({"row": range(ROWS), "x": x})
    rows.to_csv(public / "test.csv", index=False)
    rows.assign(row=rows["row"] + 100, y=x).to_csv(public / "train.csv", index=False)
    rows[["row"]].assign(y=0.0).to_csv(public / "sample_submission.csv", index=False)
    usage = ["Public" if row % 3 == 0 else "Private" for row in rows["row"]]
    hidden = rows[["row"]].assign(y=(x + 1).round(3), Usage=usage, canary=canary(ID))
    hidden.to_csv(answers, index=False, lineterminator="\n")
    (public / "description.md").write_text("# Hand-made\n")
    (public / "pictures/a.bin").write_bytes(b"\x00\xff")
    asyncio.run(ProceduralEngineer().write_evaluator(PLAN, TIERS, root, None))
    manifest = TaskManifest(
        id=ID,
        title="Hand-made",
        modality="tabular",
        problem_type="regression",
        metric="rmse",
        lower_is_better=True,
        submission=PLAN.submission,
        thresholds=TIERS,
        lineage=Lineage(seed_id="x", seed_family="x", seed_source="folder"),
        made_by=MadeBy(team="procedural", versions={}),
        files=hash_tree(root),
    )
    (root / "task.json").write_text(manifest.to_text())
    return Task.load(root)


def assert_same(back: Task, task: Task) -> None:
    assert hash_tree(back.public) == hash_tree(task.public)
    assert back.answers.read_bytes() == task.answers.read_bytes()
    assert back.manifest.thresholds == task.manifest.thresholds
    assert (back.manifest.metric, back.manifest.submission) == (task.manifest.metric, task.manifest.submission)
    sample = pd.read_csv(task.public / "sample_submission.csv")
    for data in random_submissions(sample, task.manifest.submission, 6, 3, (0.0, 1.0)):
        assert grade_bytes(back, data).model_dump() == grade_bytes(task, data).model_dump()


def assert_hidden(bundle: Path, task: Task) -> None:
    public = {path.name for path in (bundle / task.id / "prepared/public").rglob("*")}
    assert not {"answers.csv", "answer.csv", "evaluator.py"} & public
    assert json.loads((bundle / "ok_competitions_sanity.json").read_text()) == [task.id]
    assert canary(task.id).encode() not in b"".join(path.read_bytes() for path in bundle.rglob("*") if path.is_file())
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=bundle, check=True)


async def test_an_exported_task_comes_back_as_it_was(task: Task, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    for _ in range(2):  # the second replaces the first
        export_released([task], bundle)
    assert_hidden(bundle, task)
    async with LocalBackend(allow_unisolated=True) as backend:
        report = await import_released(bundle / ID, tmp_path / "back", backend)
    assert report.reason == ""
    assert_same(Task.load(tmp_path / "back" / ID), task)


def test_a_task_without_an_evaluator_is_not_exported(task: Task, tmp_path: Path) -> None:
    (task.provenance / "evaluator.py").unlink()
    with pytest.raises(BadInput, match=f"{ID} has no thresholds and no evaluator"):
        export_released([task], tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from sandmle.cli import run; run()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.flow
@pytest.mark.slow
def test_there_and_back_again_by_the_command_line(tmp_path: Path) -> None:
    (task,) = sandmle.generate_tasks(["iris"], 1, out=tmp_path / "made", seed=11, n_test=500)
    bundle, tasks = tmp_path / "bundle", tmp_path / "tasks"
    done = command("export", "tasks", "--format", "released", str(task.root), str(bundle))
    assert done.returncode == 0, done.stderr
    assert_hidden(bundle, task)
    done = command("import", str(bundle), "--out", str(tasks), "--allow-unisolated")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(Task.load(tasks / task.id), task)
    assert command("check", str(tasks), "--allow-unisolated").returncode == 0
    (bundle / task.id / "prepared/public/test.csv").write_text("id\n1\n")
    done = command("import", str(bundle), "--out", str(tmp_path / "again"), "--allow-unisolated")
    assert (done.returncode, "test.csv was changed" in done.stdout) == (1, True)
    assert [path for path in (tmp_path / "again").iterdir() if path.name != ".sandmle"] == []
