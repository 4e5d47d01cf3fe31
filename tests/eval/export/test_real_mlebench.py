"""Ten exported tasks that MLE-bench's own package has graded: the same through our command line.

``golden/mlebench.tar.xz`` holds the tasks, 50 submissions each and the original's reports; ``golden/make.py`` made it.
"""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sandmle.cli import app
from sandmle.eval.grading.medals import board_score

pytestmark = pytest.mark.flow
ARCHIVE = Path(__file__).parent / "golden" / "mlebench.tar.xz"
ONLY_THEIRS = {
    "bad-duplicate_header": "pandas gives the second of two equal names a number",
    "bad-endless": "pandas reads a zero of 600 digits",
    "bad-nan": "pandas makes NaN an empty cell, which a set of labels or a mask may be",
}
CRASHES = {"bad-latin_1": "not UTF-8", "bad-open_quote": "an open quote"}
MEDALS = ("gold_medal", "silver_medal", "bronze_medal", "any_medal", "above_median")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """For each submission our report and the original's."""
    root = tmp_path_factory.mktemp("golden")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    theirs = json.loads((root / "verdicts.json").read_text())
    lines = [
        json.dumps({"competition_id": name.split("/")[0], "submission_path": str(root / "submissions" / name)})
        for name in theirs
    ]
    (root / "submissions.jsonl").write_text("\n".join(["# as MLE-bench takes it", "", *lines]))
    words = [
        "grade",
        "--suite",
        f"synthetic:{root / 'tasks'}",
        root / "submissions.jsonl",
        "--out",
        root / "report.json",
    ]
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0
    report = json.loads((root / "report.json").read_text())
    assert done.stdout.startswith("500 runs: 500 with a submission, ")
    ours = report["competition_reports"]
    assert report["total_runs"] == len(ours) == len(theirs)
    assert report["total_medals"] == sum(found["any_medal"] for found in ours)
    return list(zip(theirs, ours, theirs.values(), strict=True))


def test_fifty_submissions_to_each_of_ten_tasks(verdicts):
    assert list(Counter(name.split("/")[0] for name, *_ in verdicts).values()) == [50] * 10


def test_score_medal_and_thresholds_are_the_same_wherever_both_give_a_score(verdicts):
    both = [
        (ours, theirs) for _, ours, theirs in verdicts if ours["valid_submission"] and theirs.get("valid_submission")
    ]
    assert len(both) > 250
    for ours, theirs in both:
        assert ours["score"] == theirs["score"]
        assert {name: ours[name] for name in MEDALS} == {name: theirs[name] for name in MEDALS}
        assert ours["is_lower_better"] == theirs["is_lower_better"]
        for tier in ("gold", "silver", "bronze", "median"):
            assert board_score(ours[f"{tier}_threshold"]) == theirs[f"{tier}_threshold"]
    assert {name: sum(ours[name] for ours, _ in both) > 0 for name in MEDALS} == dict.fromkeys(MEDALS, True)


def test_validity_is_the_same_but_for_what_pandas_makes_of_a_file(verdicts):
    differ, crashed = Counter(), Counter()
    for name, ours, theirs in verdicts:
        kind = Path(name).stem
        if "crash" in theirs:
            crashed[kind] += 1
            assert not ours["valid_submission"]
        elif ours["valid_submission"] != theirs["valid_submission"]:
            differ[kind] += 1
            assert theirs["valid_submission"], name
    assert set(crashed) == set(CRASHES)
    assert set(differ) == set(ONLY_THEIRS)
    assert (sum(crashed.values()), sum(differ.values())) == (20, 18)


def test_the_fields_are_the_originals(verdicts):
    for _, ours, theirs in verdicts:
        if "crash" not in theirs:
            assert ours.keys() == theirs.keys() | {"created_at", "submission_path"}
