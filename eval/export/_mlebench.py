"""MLE-bench's layout: a registry entry and prepared data for each task, which MLE-bench's own code grades.

OUT/competitions/<id>/   config.yaml, description.md, grade.py, evaluator.py, prepare.py, leaderboard.csv
OUT/data/<id>/prepared/  public and private

A board of ten rows gives the thresholds of a task back by the rule for fewer than 100 teams: gold, silver, bronze,
bronze, median, median, and four times the dummy. So row 1 is gold, row 2 silver, row 4 bronze, and the median of all is
the median threshold. MLE-bench rounds scores to five places, so the board is rounded alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from sandmle.errors import BadInput
from sandmle.eval.acceptance import stand_in_board
from sandmle.eval.export._data import write_data
from sandmle.eval.grading.medals import board_score
from sandmle.files import clear_leftovers, disk_errors, folder_lock, publish_folder, scratch_folder, write_text
from sandmle.task import Task

__all__ = ["export_mlebench"]

GRADE = '''"""Grades with the task's own evaluator.py, which reads files."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from mlebench.grade_helpers import InvalidSubmissionError

EVALUATOR = Path(__file__).parent / "evaluator.py"


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"--submission_path": submission, "--answers_path": answers}
        command = [sys.executable, str(EVALUATOR)]
        for option, table in paths.items():
            path = Path(folder) / f"{option.strip('-')}.csv"
            table.to_csv(path, index=False)
            command += [option, str(path)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(printed)
    if found["score"] is None:
        raise InvalidSubmissionError(found["error"])
    return float(found["score"])
'''
PREPARE = '''"""The data of this task are prepared already: they were exported with it."""

from pathlib import Path


def prepare(raw: Path, public: Path, private: Path) -> None:
    raise RuntimeError("nothing to prepare: give the folder `data` of the export as --data-dir")
'''


def export_mlebench(tasks: Sequence[Task], out: Path) -> None:
    """Write every task as an entry of MLE-bench's registry with its data; those that are there already are replaced.

    Args:
        tasks: synthetic tasks.
        out: gets the folders ``competitions`` and ``data``.

    Raises:
        BadInput: a task has no thresholds, so no board; names it. Nothing is written then.
        EnvironmentProblem: ``out`` can't be written.
    """
    boards = {task.id: _board(task) for task in tasks}
    with disk_errors(out), folder_lock(out):
        clear_leftovers(out)
        for folder in ("competitions", "data"):
            (out / folder).mkdir(exist_ok=True)
        for task in tasks:
            with scratch_folder(out) as scratch:
                entry, data = scratch / "entry", scratch / "data"
                _write_entry(task, boards[task.id], entry)
                write_data(task, data / "prepared")
                publish_folder(data, out / "data" / task.id)
                publish_folder(entry, out / "competitions" / task.id)


def _board(task: Task) -> list[float]:
    if not (task.provenance / "evaluator.py").exists():
        raise BadInput(f"{task.id} has no evaluator: only synthetic tasks can be exported")
    return [board_score(score) for score in stand_in_board(task)]


def _write_entry(task: Task, board: Sequence[float], entry: Path) -> None:
    manifest, module = task.manifest, f"mlebench.competitions.{task.id}"
    config = {
        "id": task.id,
        "name": manifest.title,
        "competition_type": "simple",
        "awards_medals": True,
        "prizes": None,
        "description": f"mlebench/competitions/{task.id}/description.md",
        "dataset": {
            "answers": f"{task.id}/prepared/private/answers.csv",
            "sample_submission": f"{task.id}/prepared/public/sample_submission.csv",
        },
        "grader": {"name": manifest.metric, "grade_fn": f"{module}.grade:grade"},
        "preparer": f"{module}.prepare:prepare",
    }
    scores = "\n".join(json.dumps(score) for score in board)
    texts = {
        "config.yaml": yaml.safe_dump(config, sort_keys=False),
        "description.md": (task.public / "description.md").read_text(encoding="utf-8"),
        "evaluator.py": (task.provenance / "evaluator.py").read_text(encoding="utf-8"),
        "grade.py": GRADE,
        "prepare.py": PREPARE,
        "leaderboard.csv": f"score\n{scores}\n",
    }
    for name, text in texts.items():
        write_text(entry / name, text)
