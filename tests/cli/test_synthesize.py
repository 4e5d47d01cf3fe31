"""``sandmle synthesize`` as a person runs it: what it prints, Ctrl-C, and a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.task import load_tasks

pytestmark = pytest.mark.flow
SMALL = ("--seeds", "diabetes", "--n-train", "60", "--n-test", "500", "--jobs", "2", "--seed", "3")


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    code = "from sandmle.cli import run; run()"
    command = [sys.executable, "-c", code, "synthesize", "--out", str(out), *SMALL, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def descendants(pid: int) -> list[int]:
    children = [
        int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
    ]
    return children + [below for child in children for below in descendants(child)]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ctrl_c_leaves_no_child_and_the_same_command_goes_on_and_prints_the_yield(tmp_path: Path) -> None:
    out = tmp_path / "tasks"
    with start(out, "--n", "3") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[1/3]"):
                break
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    assert process.returncode == 130
    assert "the same command goes on from there" in rest
    assert "Traceback" not in rest
    assert below
    assert [pid for pid in below if is_running(pid)] == []
    finished = len(load_tasks(out))
    assert finished < 3
    with start(out, "--n", "3") as process:
        printed, _ = process.communicate()
    assert process.returncode == 0
    assert len(load_tasks(out)) == 3
    assert "3 tasks in" in printed
    assert "yield 3/" in printed


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_exit_3_and_the_batch_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        with start(disk / "tasks", "--n", "1") as process:
            _, errors = process.communicate()
        assert process.returncode == 3, errors
        assert "the disk is full" in errors
        assert not list((disk / "tasks").glob("*/task.json"))
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        with start(disk / "tasks", "--n", "1") as process:
            process.communicate()
        assert process.returncode == 0
        assert len(load_tasks(disk / "tasks")) == 1
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
