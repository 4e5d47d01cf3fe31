"""Our grader against MLE-bench's own, whose verdicts are kept in ``golden.json`` (made by ``make_golden.py``).

Scores are the same to 5 places wherever both give one. Where one of them refuses what the other takes, ``DIFFERENCES``
says why.
"""

import json
import os

import make_golden
import miniature
import pytest

from sandmle.eval.grading import grade_bytes, grade_submission
from sandmle.eval.grading.medals import board_score
from sandmle.eval.suites import Sources, load_suite, prepare_suite
from sandmle.settings import get_settings

pytestmark = pytest.mark.flow
GOLDEN = json.loads(make_golden.GOLDEN.read_text())
AUC = "it takes numbers outside [0, 1]"
LABEL = "it takes a label that does not occur, and counts it as wrong"
IDS = "it does not look at the ids"
COLUMNS = "it takes no further columns"
DIFFERENCES = {
    "aptos2019-blindness-detection": {"large number": LABEL},
    "jigsaw-toxic-comment-classification-challenge": {
        "truth": AUC,
        "further column": COLUMNS,
        "row twice": IDS,
        "large number": AUC,
        "negative number": AUC,
    },
    "new-york-city-taxi-fare-prediction": {"row twice": IDS, "other id": IDS},
    "plant-pathology-2020-fgvc7": {"further column": COLUMNS, "large number": AUC, "negative number": AUC},
    "spooky-author-identification": {"further column": COLUMNS},
    "tabular-playground-series-dec-2021": {"large number": LABEL},
    "movie-review-sentiment-analysis-kernels-only": {"large number": LABEL},
    "paddy-disease-classification": dict.fromkeys(
        ("sample", "blank cell", "word", "large number", "negative number"), LABEL
    ),
    "playground-series-s3e18": {"large number": AUC, "negative number": AUC},
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """Every miniature that our graders can score, by its name."""
    root = tmp_path_factory.mktemp("suites")
    checkout, data = miniature.build_checkout(root / "mle-bench"), miniature.build_data(root / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDMLE_DATA_DIR", str(root / "home"))
        get_settings.cache_clear()
        for kind in ("mle-bench-lite", "mle-bench-dev"):
            prepare_suite(kind, Sources(data, checkout), lambda done: None)
        found = {task.id: task for kind in ("mle-bench-lite", "mle-bench-dev") for task in load_suite(kind).tasks}
    get_settings.cache_clear()
    return found


def test_every_miniature_is_compared(tasks):
    assert set(GOLDEN) == set(miniature.MINIATURES)
    assert set(GOLDEN) - set(tasks) == {"nomad2018-predict-transparent-conductors"}


@pytest.mark.parametrize("name", sorted(set(GOLDEN) - {"nomad2018-predict-transparent-conductors"}))
def test_scores_and_validity_are_the_originals(name, tasks):
    differences = {}
    for what, text in miniature.submissions(name).items():
        ours, theirs = grade_bytes(tasks[name], text.encode()), GOLDEN[name][what]
        if isinstance(theirs, float) and ours.score is not None:
            assert board_score(ours.score) == board_score(theirs), what
        elif isinstance(theirs, float) or ours.valid:
            differences[what] = DIFFERENCES.get(name, {}).get(what)
    assert differences == DIFFERENCES.get(name, {})


@pytest.mark.skipif("SANDMLE_MLEBENCH_PYTHON" not in os.environ, reason="MLE-bench is not installed")
@pytest.mark.parametrize("name", ["nomad2018-predict-transparent-conductors", "spooky-author-identification"])
def test_the_original_grades_for_real(name, cli, sources, home, tmp_path):
    done = cli("suites", "prepare", "mle-bench-lite", *sources(name), "--grader", "original")
    assert done.stderr == f"{name}: ready\n"
    (task,) = load_suite("mle-bench-lite").tasks
    for what in ("guess 0", "missing row", "empty", "missing column"):
        path = tmp_path / "submission.csv"
        path.write_text(miniature.submissions(name)[what], newline="")
        report, wanted = grade_submission(task, path), GOLDEN[name][what]
        assert wanted == (pytest.approx(report.score) if report.valid else report.error.value)


@pytest.mark.skipif("SANDMLE_MLEBENCH_PYTHON" not in os.environ, reason="MLE-bench is not installed")
@pytest.mark.slow
def test_the_golden_verdicts_are_made_again(monkeypatch, tmp_path):
    monkeypatch.setattr(make_golden, "GOLDEN", tmp_path / "again.json")
    make_golden.main(os.environ["SANDMLE_MLEBENCH_PYTHON"])
    assert json.loads((tmp_path / "again.json").read_text()) == GOLDEN
