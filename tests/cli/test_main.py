"""Bad input ends as one clear line and exit code 2, with nothing half-written; version, settings, doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sandmle import __version__
from sandmle.cli import run


def sandmle(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from sandmle.cli import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env={**os.environ, "XDG_DATA_HOME": str(cwd / "data"), "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


BAD = {
    "unknown seed": (["synthesize", "--out", "new", "--seeds", "irs"], "did you mean iris"),
    "no tasks": (["synthesize", "--out", "new", "--n", "0"], "n must be at least 1"),
    "bad jobs": (["synthesize", "--out", "new", "--jobs", "many"], "--jobs"),
    "too few rows": (["synthesize", "--out", "new", "--n-train", "3"], "n_train"),
    "empty seed": (["synthesize", "--out", "new", "--seeds", "empty"], "empty"),
    "missing folder": (["check", "missing"], "no such folder"),
    "folder without tasks": (["check", "empty"], "no tasks"),
    "missing task": (["show", "missing"], "no such task folder"),
    "broken manifest": (["show", "broken"], "broken/task.json"),
    "unknown suite": (["eval", "--suite", "nonsense", "--model", "scripted:dummy", "--out", "new"], "suite"),
    "missing suite": (["eval", "--suite", "synthetic:missing", "--model", "scripted:dummy", "--out", "new"], "missing"),
    "unknown protocol": (
        ["eval", "--suite", "synthetic:x", "--model", "m", "--out", "new", "--protocol", "loud"],
        "'clean', 'train', 'paper' or 'dojo'",
    ),
    "not a run": (["report", "empty"], "empty: not a run of `sandmle eval`"),
    "not a task": (["show", "empty"], "empty: not a task: it has no task.json"),
    "submission of a broken task": (["grade", "broken", "missing.csv"], "broken/task.json"),
    "unknown command": (["synthesise"], "synthesise"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "task.json").write_text('{"schema_version": 1, "id": "Not An Id"}')
    return tmp_path


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    folder: Path, case: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments, expected = BAD[case]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["sandmle", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    told = capfd.readouterr().err
    assert ended.value.code == 2, told
    assert expected in told
    assert "Traceback" not in told
    if told.startswith("error: "):
        assert len(told.splitlines()) == 1
    assert not (folder / "new").exists()


def test_a_manifest_of_a_newer_version_asks_for_an_upgrade(folder: Path) -> None:
    (folder / "broken" / "task.json").write_text('{"schema_version": 99}')
    ended = sandmle("show", "broken", cwd=folder)
    assert ended.returncode == 2
    assert "upgrade sandmle" in ended.stderr


def test_a_bad_setting_is_named(folder: Path) -> None:
    (folder / "sandmle.toml").write_text("allow_unisolated = 'perhaps'\n")
    ended = sandmle("seeds", "list", cwd=folder)
    assert ended.returncode == 2
    assert "allow_unisolated" in ended.stderr


def test_version(folder: Path) -> None:
    assert sandmle("--version", cwd=folder).stdout == f"sandmle {__version__}\n"


def test_doctor_tells_the_tier_as_json(folder: Path) -> None:
    ended = sandmle("doctor", "--json", cwd=folder)
    assert ended.returncode == 0
    found = {line["what"]: line["found"] for line in json.loads(ended.stdout)}
    assert found["sandbox"].startswith("tier ")
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_doctor_tells_of_every_extra_for_users(folder: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    ended = sandmle("doctor", "--json", cwd=folder)
    told = {
        line["what"].removeprefix("extra ") for line in json.loads(ended.stdout) if line["what"].startswith("extra ")
    }
    assert told == set(project["project"]["optional-dependencies"]) - {"test", "dev"}
