"""Boards and a benchmark's own grader, which runs for real: as a script in another process."""

import shutil
import sys
import types

import pandas as pd
import pytest
from pydantic import ValidationError

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.eval.grading import grade_bytes, original
from sandmle.eval.grading.boards import BOARDS, Boards
from sandmle.eval.grading.original import ORIGINAL, OriginalGrader, require_original
from sandmle.eval.grading.originals import mle_bench, mle_dojo
from sandmle.grades import GradeError
from sandmle.settings import get_settings
from sandmle.task import Task

SCRIPT = """
import json, sys
request = json.load(sys.stdin)
text = open(request["submission"]).read()
print("some library says hello")
if text == "kill":
    import os
    os.kill(os.getpid(), 9)
if text == "die":
    raise SystemExit("KeyError: 'id'")
if text == "babble":
    print("no verdict")
elif text == "bad":
    print(json.dumps({"error": "missing_rows", "detail": "ids differ"}))
else:
    print(json.dumps({"score": float(text)}))
"""


@pytest.fixture
def task(tmp_path, tasks, monkeypatch):
    """A copy of a task with a board, graded by a script of the benchmark."""
    shutil.copytree(tasks["number"].root, tmp_path / "task")
    provenance = tmp_path / "task" / "provenance"
    provenance.mkdir(exist_ok=True)
    (provenance / ORIGINAL).write_text(OriginalGrader(package="mle-bench", competition="toy").to_text())
    (provenance / BOARDS).write_text(Boards(public=(0.1, 0.2, 0.3, 0.4), private=(0.1, 0.2)).to_text())
    monkeypatch.setitem(original.SCRIPTS, "mle-bench", SCRIPT)
    monkeypatch.setenv("SANDMLE_MLEBENCH_PYTHON", sys.executable)
    get_settings.cache_clear()
    yield Task.load(tmp_path / "task")
    get_settings.cache_clear()


def test_the_original_scores_and_the_boards_rank(task):
    assert task.manifest.lower_is_better
    report = grade_bytes(task, b"0.300001")
    assert report.score == 0.300001
    assert report.human_rank == pytest.approx((2 / 4 + 0) / 2)  # 0.30000 ties the public board's third team


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (b"die", GradeError.UNPARSABLE, "mle-bench's own grader refuses it (KeyError)"),
        (b"bad", GradeError.MISSING_ROWS, "mle-bench's own grader refuses it"),
    ],
)
def test_what_the_original_refuses_is_invalid_and_its_words_are_logged(task, text, code, says, caplog):
    with caplog.at_level("INFO", "sandmle.eval"):
        report = grade_bytes(task, text)
    assert (report.score, report.error, report.detail) == (None, code, says)
    assert "'id'" in caplog.text or "ids differ" in caplog.text
    assert report.human_rank is None


@pytest.mark.parametrize("name", ["..", "../toy", "/toy", "a/b", ""])
def test_a_competition_is_no_path(name):
    with pytest.raises(ValidationError):
        OriginalGrader(package="mle-bench", competition=name)


def test_the_graders_process_sees_no_keys(task, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    tell = 'import json, os; print(json.dumps({"score": float("OPENAI_API_KEY" in os.environ)}))'
    monkeypatch.setitem(original.SCRIPTS, "mle-bench", tell)
    assert grade_bytes(task, b"1").score == 0


def test_code_that_comes_with_a_strangers_task_is_never_run(task, monkeypatch, tmp_path):
    (task.provenance / ORIGINAL).write_text(OriginalGrader(package="mle-dojo", competition="toy").to_text())
    proof = tmp_path / "ran"
    monkeypatch.setitem(original.SCRIPTS, "mle-dojo", f"open({str(proof)!r}, 'w')")
    monkeypatch.setenv("SANDMLE_MLEDOJO_PYTHON", sys.executable)
    get_settings.cache_clear()
    with pytest.raises(BadInput, match="suites prepare mle-dojo"):
        grade_bytes(task, b"1")
    with pytest.raises(BadInput, match="suites prepare mle-dojo"):
        require_original(task)
    assert not proof.exists()


LACKS = [OSError(28, "No space left on device"), ModuleNotFoundError("No module named 'x'")]
PROVOKED = [MemoryError("no room"), FileNotFoundError(2, "No such file", "an-image-that-the-submission-names.png")]


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """``verdicts(error)``: of both scripts where the benchmark's code raises it."""

    def judged(error):
        def grade(*_):
            raise error

        utils = types.ModuleType("mlebench.utils")
        utils.read_csv = pd.read_csv
        monkeypatch.setitem(sys.modules, "mlebench", types.ModuleType("mlebench"))
        monkeypatch.setitem(sys.modules, "mlebench.utils", utils)
        table = pd.DataFrame({"id": [1], "y": [2]})
        table.to_csv(tmp_path / "submission.csv", index=False)
        competition = types.SimpleNamespace(
            sample_submission=tmp_path / "submission.csv", grader=types.SimpleNamespace(grade_fn=grade)
        )
        monkeypatch.setattr(mle_bench, "load", lambda _: (competition, table))
        checks = (grade, lambda *_: None)
        metrics = [types.SimpleNamespace(validate_submission=check, evaluate=grade) for check in checks]
        found = mle_bench.judge({"submission": str(tmp_path / "submission.csv")})
        return [found, *(mle_dojo.scored(metric, table, table) for metric in metrics)]

    return judged


@pytest.mark.parametrize("error", LACKS)
def test_what_the_machine_lacks_while_it_grades_is_a_problem(error, verdicts):
    for verdict in verdicts(error):
        assert list(verdict) == ["problem"]
        assert str(error) in verdict["problem"]


@pytest.mark.parametrize("error", PROVOKED)
def test_what_a_submission_can_bring_about_is_no_problem_of_the_machine(error, verdicts):
    assert all("problem" not in verdict and verdict["error"] for verdict in verdicts(error))


def test_a_submission_that_kills_the_grader_is_invalid_where_the_sample_does_not(task):
    sample = task.public / "sample_submission.csv"
    sample.write_text("0.5")
    report = grade_bytes(task, b"kill")
    assert (report.score, report.error) == (None, GradeError.METRIC_UNDEFINED)
    sample.write_text("kill")
    with pytest.raises(InfraError, match="signal 9"):
        grade_bytes(task, b"kill")


def test_a_grader_that_babbles_is_our_own_fault(task):
    with pytest.raises(InfraError, match="printed no verdict"):
        grade_bytes(task, b"babble")


def test_a_missing_benchmark_is_named(task, monkeypatch):
    monkeypatch.delenv("SANDMLE_MLEBENCH_PYTHON")
    get_settings.cache_clear()
    with pytest.raises(EnvironmentProblem, match="SANDMLE_MLEBENCH_PYTHON"):
        grade_bytes(task, b"0.1")
