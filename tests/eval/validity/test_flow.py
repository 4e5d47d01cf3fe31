"""A study on small tasks: what is measured is remembered, a stopped study goes on, the report tells what came out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sandmle
from sandmle.errors import BadInput
from sandmle.eval.validity import PIPELINES, WEAK, Study, ValidityReport, markdown_report, run_study
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task, load_tasks

QUICK = ("mean", "tree-shallow", "ridge", "neighbours")
NAMES = ("mean", "tree-shallow", "ridge", "network", "search")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    for name in ("iris", "diabetes"):
        materialize(get_seed(name), folder)
    return folder


@pytest.fixture(scope="module")
def tasks(real: Path) -> list[Task]:
    return load_tasks(real)


def written(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (out / "scores").rglob("*.json")}


def test_there_are_a_dozen_pipelines_and_more_that_are_not_weak():
    assert len(set(PIPELINES)) == len(PIPELINES) >= 12
    assert set(WEAK) < set(PIPELINES)
    assert len(PIPELINES) - len(WEAK) >= 12


async def test_what_is_measured_is_remembered(tasks: list[Task], tmp_path: Path):
    study = Study.choose(tasks, tasks, tasks=1, rules=3, rows=400, pipelines=QUICK[:3])
    assert study.rules == ()  # real tasks have no rule
    told: list[str] = []
    async with LocalBackend(allow_unisolated=True) as backend:
        report = await run_study(study, backend, tmp_path, jobs=1, on_done=lambda arm, _: told.append(arm))
        before = written(tmp_path)
        gone = next(path for path in before if path.parent.name == "real")
        gone.unlink()
        again = await run_study(study, backend, tmp_path, jobs=1)
        assert {path for path, when in written(tmp_path).items() if when != before[path]} == {gone}
        more = Study.choose(tasks, tasks, tasks=1, rules=0, rows=400, pipelines=QUICK)
        wider = await run_study(more, backend, tmp_path, jobs=1)
    assert again.model_copy(update={"cpu_s": report.cpu_s}) == report
    assert told == ["synthetic", "real"]
    assert (report.runs, report.failed, wider.runs) == (6, 0, 8)
    whole = report.comparisons[0]
    assert (whole.spearman.value, whole.spearman.over_tasks) == (1.0, None)  # one task, against itself
    assert whole.standings["mean"] == (0.0, 0.0)
    assert "1.00" in markdown_report(report)


def test_what_can_not_be_measured_is_told(tasks: list[Task]):
    bounds = {"tasks": 1, "rules": 0, "rows": 400}
    for options, says in (
        ({"pipelines": ("mean", "magic")}, "'magic'"),
        ({"pipelines": ("mean", "ridge", "search")}, "at least 3"),
        ({"modalities": ("taste",)}, "'taste'"),
        ({"modalities": ("audio",)}, "no synthetic task"),
    ):
        with pytest.raises(BadInput, match=says):
            Study.choose(tasks, tasks, **bounds, **options)


def command(folder: Path, out: Path, *arguments: str) -> list[str]:
    start = [sys.executable, "-c", "from sandmle.cli import run; run()", "suites", "validity", str(folder)]
    return [*start, "--out", str(out), "--allow-unisolated", *arguments]


@pytest.mark.flow
@pytest.mark.slow
def test_a_study_by_the_command_line_goes_on_after_ctrl_c_and_kill(real: Path, tmp_path: Path) -> None:
    made = list(sandmle.generate_tasks(["iris"], 1, out=tmp_path / "tasks", seed=11, n_test=500))
    options = ("--pipelines", ",".join(NAMES), "--tasks", "2", "--rules", "1", "--rows", "400", "--jobs", "1")
    told = command(tmp_path / "tasks", tmp_path / "out", "--real", f"synthetic:{real}", *options)
    before: dict[Path, int] = {}
    for number, (stop, code) in enumerate(((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)), start=1):
        running = subprocess.Popen(told, env=dict(os.environ), stderr=subprocess.PIPE, text=True)
        while not running.stderr.readline().startswith(f"[{number}/4]"):
            assert running.poll() is None
        running.send_signal(stop)
        assert running.wait() == code
        running.stderr.close()
        assert before.items() <= written(tmp_path / "out").items()
        before = written(tmp_path / "out")
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert before.items() <= written(tmp_path / "out").items()
    report = ValidityReport.read(tmp_path / "out/validity.json")
    assert (report.runs, report.failed) == (3 * len(NAMES) + len(NAMES) - 1, 0)
    quick = NAMES[:-1]
    assert [each.pipelines for each in report.comparisons] == [NAMES, NAMES[1:], quick, quick[1:]]
    more = json.loads(next((tmp_path / "out/scores/more-rows").iterdir()).read_text())
    assert (more["n_train"], more["task_id"]) == (400, made[0].id)
    assert (tmp_path / "out/validity.md").read_text() == done.stdout
