"""``sandmle eval`` through the real command line, killed and interrupted in the middle."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandmle.seeds import get_seed, materialize

pytestmark = pytest.mark.flow

MAIN = "from sandmle.cli import run; run()"


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    for name in ("iris", "diabetes"):
        materialize(get_seed(name), folder)
    return folder


def command(suite, out, *more, repeats=3):
    models = ("--model", "scripted:dummy", *more)
    flags = ("--suite", f"synthetic:{suite}", "--out", str(out), "--repeats", str(repeats), "--jobs", "2")
    return [sys.executable, "-c", MAIN, "eval", *flags, *models]


def start(suite, out, *more, **options):
    return subprocess.Popen(command(suite, out, *more, **options), stderr=subprocess.PIPE, text=True)


def read_until(process, start_of_line):
    for line in process.stderr:
        if line.startswith(start_of_line):
            return
    raise AssertionError(f"the run ended without a line {start_of_line!r}")


def report(out):
    found = subprocess.run([sys.executable, "-c", MAIN, "report", str(out), "--json"], capture_output=True, check=True)
    loaded = json.loads(found.stdout)
    del loaded["timing"]
    return loaded


def descendants(pid):
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(child) for path in children for child in path.read_text().split()]
    return found + [below for child in found for below in descendants(child)]


def is_running(pid):
    """Whether the process is there and no zombie, which is whoever adopted it to reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_killed_at_two_moments_and_run_again_the_report_is_that_of_an_unbroken_run(suite, tmp_path):
    for moment in ("[1/6]", "[4/6]"):
        with start(suite, tmp_path / "broken") as process:
            read_until(process, moment)
            process.kill()
        assert process.returncode == -signal.SIGKILL
    subprocess.run(command(suite, tmp_path / "broken"), check=True, capture_output=True)
    subprocess.run(command(suite, tmp_path / "whole"), check=True, capture_output=True)
    lines = (tmp_path / "broken" / "episodes.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == 6
    assert report(tmp_path / "broken") == report(tmp_path / "whole")


@pytest.mark.slow
def test_ctrl_c_stops_at_once_leaves_no_child_and_says_how_to_go_on(suite, tmp_path):
    more = ("--model", "scripted:gbdt")
    with start(suite, tmp_path / "run", *more, repeats=1) as process:
        read_until(process, "[1/4]")
        below = descendants(process.pid)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        process.wait()
        seconds = time.monotonic() - sent
    assert process.returncode == 130
    assert "the same command goes on from there" in rest
    assert below
    assert [pid for pid in below if is_running(pid)] == []
    assert seconds < 10
    again = subprocess.run(
        command(suite, tmp_path / "run", *more, repeats=1), check=True, capture_output=True, text=True
    )
    assert "done before" in again.stderr
    assert len(report(tmp_path / "run")["rows"]) == 2
