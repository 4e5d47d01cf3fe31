"""The suite ``bundled`` through the real command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.flow

FEW = """
import sandmle.eval.suites.bundled as bundled
bundled.MEMBERS = ("diabetes", "wine-alcohol", "digit-scans")
"""
MAIN = "from sandmle.cli import run; run()"
SCAFFOLDS = ("react", "mle-agent", "aide")
MODELS = ("scripted:linear", "scripted:best")


class Machine:
    """Commands with a data folder of their own."""

    def __init__(self, folder: Path, head: str = "") -> None:
        self.folder, self.code = folder, head + MAIN
        self.env = {**os.environ, "SANDMLE_DATA_DIR": str(folder / "data"), "COLUMNS": "200"}

    def command(self, *words):
        return [sys.executable, "-c", self.code, *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=True, env=self.env)

    def start(self, *words):
        return subprocess.Popen(self.command(*words), stderr=subprocess.PIPE, text=True, env=self.env)

    def report(self, run):
        found = json.loads(self.run("report", run, "--json").stdout)
        del found["timing"]
        return found


def evaluate(out, scaffolds, models, repeats):
    words = ["eval", "--suite", "bundled", "--out", out, "--repeats", repeats, "--jobs", 2]
    words += [word for name in scaffolds for word in ("--scaffold", name)]
    return words + [word for name in models for word in ("--model", name)]


def kill_at(process, start_of_line):
    for line in process.stderr:
        if line.startswith(start_of_line):
            process.kill()
            break
    process.wait()
    assert process.returncode == -signal.SIGKILL


def test_it_is_prepared_shown_and_evaluated(tmp_path):
    machine = Machine(tmp_path, FEW)
    prepared = machine.run("suites", "prepare", "bundled")
    assert "bundled: 3 tasks" in prepared.stdout
    assert "wine-alcohol: ready" in prepared.stderr
    shown = machine.run("suites", "show", "bundled").stdout
    assert all(name in shown for name in ("diabetes-", "rmse", "multiclass_log_loss", "image"))
    machine.run(*evaluate(tmp_path / "run", ["react"], ["scripted:dummy", "scripted:linear"], 1))
    report = machine.report(tmp_path / "run")
    assert len(report["rows"]) == 2
    episodes = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    found = sorted((episode["policy"], episode["grade"]["above_median"]) for episode in episodes)
    assert found == [("scripted:dummy", False)] * 3 + [("scripted:linear", True)] * 3


@pytest.mark.slow
def test_the_whole_suite_killed_twice_ends_in_the_report_of_an_unbroken_run(tmp_path):
    machine = Machine(tmp_path)
    whole, broken = (evaluate(tmp_path / name, SCAFFOLDS, MODELS, 2) for name in ("whole", "broken"))
    machine.run(*whole)
    total = len((tmp_path / "whole" / "episodes.jsonl").read_text().splitlines())
    for moment in (total // 5, total // 2):
        kill_at(machine.start(*broken), f"[{moment}/{total}]")
    machine.run(*broken)
    lines = (tmp_path / "broken" / "episodes.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == total
    assert machine.report(tmp_path / "broken") == machine.report(tmp_path / "whole")
