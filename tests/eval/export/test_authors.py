"""The authors' own dataset preparation and score tool, from a checkout of their repository, over our export.

None of their code is ours: set SANDMLE_TEST_RELEASED to a checkout of the SandMLE repository, in an environment that
has what its ``rllm`` imports, such as one with rLLM and verl (docs/rllm.md). What runs is a copy, since their data sets
lie beside their code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sandmle
from sandmle.eval.export import export_released
from sandmle.eval.grading import grade_bytes
from sandmle.task import Task

CHECKOUT = os.environ.get("SANDMLE_TEST_RELEASED")
pytestmark = pytest.mark.skipif(CHECKOUT is None, reason="set SANDMLE_TEST_RELEASED to a checkout of the authors' code")

SCORE = """
import asyncio, sys
from examples.deepresearch.deepresearch_tools import SynScoreTool
print(asyncio.run(SynScoreTool().call(competition_id=sys.argv[1], path=sys.argv[2])))
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    (made,) = sandmle.generate_tasks(["iris"], 1, out=tmp_path_factory.mktemp("made"), seed=11, n_test=500)
    return made


@pytest.fixture
def bundle(task: Task, tmp_path: Path) -> Path:
    export_released([task], tmp_path / "bundle")
    return tmp_path / "bundle"


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what they import."""
    assert CHECKOUT is not None
    copied = tmp_path_factory.mktemp("authors")
    for package in ("rllm", "examples/deepresearch"):
        shutil.copytree(Path(CHECKOUT) / package, copied / package)
    return copied


def theirs(code: Path, root: Path, *arguments: str) -> str:
    """What their ``code`` prints when it runs over the bundle ``root``."""
    environment = {**os.environ, "PYTHONPATH": str(code), "SANDMLE_SYN_DATA_ROOT": str(root)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_their_preparation_takes_our_export(task: Task, bundle: Path, code: Path) -> None:
    """Their data set names every file that the agent gets, holds our brief, and no word of evaluator or answers."""
    told = theirs(code, bundle, "-m", "examples.deepresearch.prepare_train_data", "--synthetic", "--toy")
    written = re.findall(r"dataset size: (\d+) at (.+\.parquet)$", told, flags=re.MULTILINE)
    assert [int(rows) for rows, _ in written] == [1, 1]  # with --toy, training and validation are the same rows
    for _, path in written:
        assert Path(path).is_relative_to(code)
        (row,) = pd.read_parquet(path).to_dict("records")
        assert row["extra_info"]["competition_id"] == task.id
        (message,) = row["prompt"]
        assert (task.public / "description.md").read_text().strip() in message["content"]
        assert all(f"/{file.name}**" in message["content"] for file in task.public.iterdir())
        assert not [word for word in ("evaluator.py", "answer.csv", "answers.csv") if word in message["content"]]


def test_their_score_tool_reads_our_evaluator_from_a_copy_that_only_the_grader_has(
    task: Task, bundle: Path, code: Path
) -> None:
    """They look for it among the public files: a link there, in a bundle out of every agent's sight, is enough."""
    sample = task.public / "sample_submission.csv"
    graders = bundle.with_name("graders")
    shutil.copytree(bundle, graders)
    (graders / task.id / "prepared/public/evaluator.py").symlink_to("../../evaluator/evaluator.py")
    said = theirs(code, graders, "-c", SCORE, task.id, str(sample))
    ours = grade_bytes(task, sample.read_bytes())
    assert f"{ours.score}"[:6] in said
    assert f"{task.manifest.thresholds.gold}"[:6] in said
