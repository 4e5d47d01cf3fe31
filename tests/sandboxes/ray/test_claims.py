"""What places of one machine share, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandmle.sandboxes.ray._claims import ClaimedFolder, claim_cores

CLAIM = """
import sys
from sandmle.sandboxes.ray._claims import ClaimedFolder, claim_cores
folder = ClaimedFolder()
(folder.path / "train.csv").write_text("id")
print(folder.path, claim_cores(1), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def other():
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        yield it
        it.kill()


def test_cores_are_shared_out_and_come_back(other: subprocess.Popen[str]):
    _, _, theirs = other.stdout.readline().strip().partition(" ")
    cores = sorted(os.sched_getaffinity(0))
    assert theirs == str(cores[:1])
    assert claim_cores(len(cores)) is None
    other.kill()
    other.wait()
    assert claim_cores(len(cores)) == cores


def test_folders_of_the_dead_are_removed(other: subprocess.Popen[str]):
    theirs = Path(other.stdout.readline().partition(" ")[0])
    mine = ClaimedFolder()
    assert (theirs / "train.csv").exists()
    other.kill()
    other.wait()
    ClaimedFolder().remove()
    assert not theirs.exists()
    assert mine.path.exists()
    mine.remove()
    assert not mine.path.exists()
