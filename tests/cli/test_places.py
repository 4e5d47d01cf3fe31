"""A place that can't be written ends every command with one line, exit code 2 or 3, and no traceback."""

import sys

import pytest

from sandmle.cli import run
from sandmle.eval.runs import EvalSettings, RunRecord, open_run
from sandmle.seeds import get_seed, materialize


@pytest.fixture(scope="session")
def given(tmp_path_factory):
    """A folder with a task, a run that has just begun, a bundle, a file and a folder."""
    root = tmp_path_factory.mktemp("given")
    materialize(get_seed("iris"), root / "tasks")
    (root / "file").write_text("mine")
    (root / "folder" / "r.md").mkdir(parents=True)
    (root / "submissions.jsonl").touch()
    public = root / "bundle" / "shop" / "prepared" / "public"
    public.mkdir(parents=True)
    for name in ("description.md", "sample_submission.csv", "test.csv", "evaluator.py", "answer.csv"):
        (public / name).write_text("id,sold\n1,2\n")
    settings = EvalSettings(suite="synthetic:tasks", models=("scripted:dummy",))
    with open_run(root / "run", RunRecord(settings=settings, tasks={"iris": "aa"}, versions={}, isolation="A")):
        return root


@pytest.mark.parametrize(
    "command",
    [
        "import bundle --out file",
        "import bundle --out file/tasks",
        "grade --suite synthetic:tasks submissions.jsonl --out folder",
        "grade --suite synthetic:~nobody-of-that-name/x submissions.jsonl",
        "report run --out file/r.md",
        "report run --out folder/r.md",
        "export tasks tasks file",
        "export tasks tasks file --format released",
        "export episodes run file",
        "split tasks --out folder",
    ],
)
def test_a_place_that_cannot_be_one_is_one_line_with_exit_code_2(given, command, monkeypatch, capsys):
    monkeypatch.chdir(given)
    monkeypatch.setattr(sys, "argv", ["sandmle", *command.split()])
    with pytest.raises(SystemExit) as ended:
        run()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert (given / "file").read_text() == "mine"
