"""Batches in MLE-bench's terms, through the command line: nothing wrong with a line keeps others from a report."""

import json
import shutil
from datetime import datetime

import pytest
from typer.testing import CliRunner

from sandmle.cli import app
from sandmle.errors import BadInput
from sandmle.eval.grading.original import ORIGINAL, OriginalGrader

TOTALS = (
    "total_runs",
    "total_runs_with_submissions",
    "total_valid_submissions",
    "total_medals",
    "total_gold_medals",
    "total_silver_medals",
    "total_bronze_medals",
    "total_above_median",
)


@pytest.fixture
def suite(tmp_path, tasks):
    for kind in ("probability", "number", "positive"):
        shutil.copytree(tasks[kind].root, tmp_path / "suite" / f"test-{kind}")
    return tmp_path / "suite"


@pytest.fixture
def grade(tmp_path, suite):
    """``grade(lines)`` grades the lines and gives the result of the command and the report that it wrote."""

    def run(lines, *words):
        file, out = tmp_path / "submissions.jsonl", tmp_path / "report.json"
        file.write_text("\n".join(lines))
        command = ["grade", "--suite", f"synthetic:{suite}", str(file), "--out", str(out), *words]
        done = CliRunner().invoke(app, command)
        return done, json.loads(out.read_text())

    return run


@pytest.fixture
def submission(tmp_path, perfect, to_bytes):
    """``submission(kind, name)`` writes a perfect submission, which ``spoil`` may change, and gives its line."""

    def write(kind, name="submission.csv", spoil=lambda rows: rows):
        path = tmp_path / f"{kind}-{name}"
        path.write_bytes(to_bytes(spoil(perfect(kind))))
        return json.dumps({"competition_id": f"test-{kind}", "submission_path": str(path)})

    return write


def test_the_report_has_the_originals_fields(grade, submission, tmp_path):
    done, report = grade([submission("probability")])
    assert done.exit_code == 0
    assert done.stdout == (
        "1 runs: 1 with a submission, 1 valid, 1 above the median, 1 medals (gold 1, silver 0, bronze 0)\n"
    )
    (found,) = report.pop("competition_reports")
    assert report == dict(zip(TOTALS, (1, 1, 1, 1, 1, 0, 0, 1), strict=True))
    assert datetime.fromisoformat(found.pop("created_at"))
    assert found == {
        "competition_id": "test-probability",
        "score": 1.0,
        "gold_threshold": 0.9,
        "silver_threshold": 0.8,
        "bronze_threshold": 0.7,
        "median_threshold": 0.6,
        "any_medal": True,
        "gold_medal": True,
        "silver_medal": False,
        "bronze_medal": False,
        "above_median": True,
        "submission_exists": True,
        "valid_submission": True,
        "is_lower_better": False,
        "submission_path": str(tmp_path / "probability-submission.csv"),
    }


def test_scores_are_rounded_to_five_places_and_no_thresholds_are_null(grade, submission):
    def off(rows):
        return [rows[0], *([name, str(float(cell) + 1 / 3)] for name, cell in rows[1:])]

    _, report = grade([submission("positive", spoil=off), submission("number", spoil=off)])
    positive, number = report["competition_reports"]
    assert (positive["gold_threshold"], positive["any_medal"], positive["above_median"]) == (None, False, False)
    assert number["score"] == 0.33333
    assert number["is_lower_better"] is True


def test_what_is_wrong_with_a_submission_is_in_the_report(grade, submission, tmp_path):
    other_name = json.loads(submission("number", "submission.txt"))
    lines = [
        submission("number"),
        submission("number", "short.csv", lambda rows: rows[:-1]),
        json.dumps({"competition_id": "test-number", "submission_path": str(tmp_path / "none.csv")}),
        json.dumps({"competition_id": "test-number", "submission_path": str(tmp_path)}),
        json.dumps(other_name),
    ]
    done, report = grade(lines)
    assert done.exit_code == 0
    found = report["competition_reports"]
    assert [each["submission_exists"] for each in found] == [True, True, False, False, False]
    assert [each["valid_submission"] for each in found] == [True, False, False, False, False]
    assert [each["score"] for each in found] == [0.0, None, None, None, None]
    assert report["total_runs_with_submissions"] == 2


def test_a_line_that_cannot_be_graded_is_told_and_the_others_are(grade, submission, suite, monkeypatch):
    (suite / "test-positive/prepared/private/answers.csv").write_text("id\n1\n")
    (suite / "test-probability/provenance").mkdir()
    original = OriginalGrader(package="mle-bench", competition="toy")
    (suite / "test-probability/provenance" / ORIGINAL).write_text(original.to_text())
    monkeypatch.delenv("SANDMLE_MLEBENCH_PYTHON", raising=False)
    lines = [
        "# a comment",
        "// another",
        "",
        "{broken",
        '["test-number"]',
        '{"competition_id": "test-number"}',
        '{"competition_id": "elsewhere", "submission_path": "x.csv"}',
        submission("positive"),
        submission("probability"),
        submission("number"),
    ]
    done, report = grade(lines)
    assert isinstance(done.exception, BadInput)
    assert "6 lines could not be graded; all others were" in str(done.exception)
    said = [line.partition(", line ")[2] for line in done.stderr.splitlines()]
    wanted = [
        "4: not JSON",
        "5: not a JSON object with",
        "6: not a JSON object with",
        "7: the suite has no task 'elsewhere'",
        "8: ",
        "9: mle-bench grades this task with its own code",
    ]
    assert all(line.startswith(start) for line, start in zip(said, wanted, strict=True)), said
    assert report["total_runs"] == report["total_valid_submissions"] == 1


def test_no_line_ends_the_batch(grade, submission):
    long = json.dumps({"competition_id": "test-number", "submission_path": "x" * 5000 + ".csv"})
    done, report = grade(["[" * 200_000, long, submission("number")])
    assert isinstance(done.exception, BadInput)
    assert "1 lines could not be graded" in str(done.exception)
    assert [each["submission_exists"] for each in report["competition_reports"]] == [False, True]


def test_json_prints_the_report(grade, submission):
    done, report = grade([submission("number")], "--json")
    assert json.loads(done.stdout) == report


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("task",), "TASK and a FILE"),
        (("task", "file", "more"), "TASK and a FILE"),
        (("--suite", "synthetic:x", "task", "file"), "TASK and a FILE"),
        (("task", "file", "--out", "report.json"), "--out is for --suite"),
        (("--suite", "nonsense", "file"), "unknown suite"),
    ],
)
def test_other_arguments_are_refused_in_one_line(words, says):
    error = CliRunner().invoke(app, ["grade", *words]).exception
    assert isinstance(error, BadInput)
    assert says in str(error)
    assert "\n" not in str(error)


def test_a_file_of_lines_that_is_not_there(suite):
    error = CliRunner().invoke(app, ["grade", "--suite", f"synthetic:{suite}", "nowhere.jsonl"]).exception
    assert "nowhere.jsonl: can't be read" in str(error)
