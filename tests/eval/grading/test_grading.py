"""Scores, medals and the promise that no submission can stop the grader."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from sandmle.errors import BadInput
from sandmle.eval.grading import (
    MAX_BYTES,
    _cells,
    grade_bytes,
    grade_predictions,
    grade_submission,
    invalid_report,
    load_answers,
    read_answers,
    size_limit,
)
from sandmle.grades import GradeError, GradeReport
from sandmle.task import Task, Thresholds

robust = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def spoil(task, **changes):
    return Task(task.root, task.manifest.model_copy(update=changes))


def rewrite_answers(task, tmp_path, text):
    (tmp_path / "prepared" / "private").mkdir(parents=True)
    (tmp_path / "prepared" / "private" / "answers.csv").write_text(text)
    return Task(tmp_path, task.manifest)


def test_a_perfect_submission_of_each_kind(any_task, perfect, to_bytes):
    kind, task = any_task
    report = grade_bytes(task, to_bytes(perfect(kind)))
    best = 0.0 if task.manifest.lower_is_better else 1.0
    assert report.score == pytest.approx(best, abs=1e-12)
    assert report.public_score == pytest.approx(best, abs=1e-12)
    if task.manifest.thresholds:
        assert (report.medal, report.above_median) == ("gold", True)
        assert report.reached == ("median", "bronze", "silver", "gold")
    else:
        assert (report.medal, report.above_median, report.reached) == (None, False, ())


def test_the_score_is_of_the_private_rows_and_the_public_score_of_the_public_ones(tasks, perfect, to_bytes):
    rows = perfect("number")
    for row in rows[1:4]:
        row[1] = str(float(row[1]) + 2)
    rows[4][1] = str(float(rows[4][1]) + 7)
    report = grade_bytes(tasks["number"], to_bytes(rows))
    assert report.score == pytest.approx(np.sqrt(7**2 / 7))
    assert report.public_score == pytest.approx(2.0)


def test_probabilities_against_scikit_learn(tasks, perfect, to_bytes):
    rng = np.random.default_rng(0)
    rows = perfect("probability")
    for row in rows[1:]:
        row[1] = repr(float(rng.random()))
    key = load_answers(tasks["probability"])
    predicted = np.array([float(row[1]) for row in rows[1:]])
    report = grade_bytes(tasks["probability"], to_bytes(rows))
    assert report.score == pytest.approx(roc_auc_score(key.truth[3:], predicted[3:]), abs=1e-12)

    rows = perfect("class_probabilities")
    for row in rows[1:]:
        row[1:] = [repr(float(value)) for value in rng.random(3)]
    matrix = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])[3:]
    key = load_answers(tasks["class_probabilities"])
    expected = log_loss(key.truth[3:], matrix / matrix.sum(axis=1, keepdims=True), labels=[0, 1, 2])
    assert grade_bytes(tasks["class_probabilities"], to_bytes(rows)).score == pytest.approx(expected, abs=1e-12)


def test_an_undefined_public_score_is_left_out(tasks, tmp_path, perfect, to_bytes):
    text = tasks["probability"].answers.read_text().replace("100,no", "100,yes")
    task = rewrite_answers(tasks["probability"], tmp_path, text)
    report = grade_bytes(task, to_bytes(perfect("probability")))
    assert report.score == 1.0
    assert report.public_score is None


def test_an_undefined_score_is_an_error(tasks, tmp_path, perfect, to_bytes):
    text = tasks["probability"].answers.read_text().replace(",no,", ",yes,")
    report = grade_bytes(rewrite_answers(tasks["probability"], tmp_path, text), to_bytes(perfect("probability")))
    assert report.error is GradeError.METRIC_UNDEFINED
    assert report.detail.startswith("ROC AUC")


def test_without_usage_all_rows_are_private(tasks, tmp_path, perfect, to_bytes):
    lines = tasks["number"].answers.read_text().splitlines()
    text = "\n".join(",".join(line.split(",")[:2]) for line in lines)
    task = rewrite_answers(tasks["number"], tmp_path, text)
    rows = perfect("number")
    rows[1][1] = "10.5"
    report = grade_bytes(task, to_bytes(rows))
    assert report.score == pytest.approx(np.sqrt(10.0))
    assert report.public_score is None


@pytest.mark.parametrize(
    ("score", "medal", "above", "reached"),
    [
        (3.0, None, False, ("median",)),
        (2.5, None, True, ("median",)),
        (3.5, None, False, ()),
        (2.0, "bronze", True, ("median", "bronze")),
        (1.0, "silver", True, ("median", "bronze", "silver")),
        (0.75, "silver", True, ("median", "bronze", "silver")),
        (0.5, "gold", True, ("median", "bronze", "silver", "gold")),
    ],
)
def test_medals_are_inclusive_and_above_median_is_strict(tasks, score, medal, above, reached):
    manifest = tasks["number"].manifest
    key = load_answers(tasks["number"])
    report = grade_predictions(manifest, key, key.truth + score)
    assert report.score == score
    assert (report.medal, report.above_median, report.reached) == (medal, above, reached)


def test_medals_where_higher_is_better(tasks):
    task = spoil(tasks["label"], thresholds=Thresholds(median=2 / 7, bronze=3 / 7, silver=5 / 7, gold=6 / 7))
    key = load_answers(task)
    for right, medal, above in [(2, None, False), (3, "bronze", True), (5, "silver", True), (6, "gold", True)]:
        prediction = key.truth.copy()
        prediction[3 + right :] = (prediction[3 + right :] + 1) % 3
        report = grade_predictions(task.manifest, key, prediction)
        assert (report.medal, report.above_median) == (medal, above)


def test_the_report_goes_through_json(tasks, perfect, to_bytes):
    for report in (
        grade_bytes(tasks["number"], to_bytes(perfect("number"))),
        invalid_report(tasks["number"].manifest, GradeError.MISSING, "there is no submission file"),
    ):
        assert GradeReport.model_validate_json(report.to_text()) == report
        assert json.loads(report.to_text())["schema_version"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("id,target,Usage\n", "no rows"),
        ("id,y\n100,1\n", "no target column 'target'"),
        ("row,target\n100,1\n", "no id column 'id'"),
        ("id,target\n100,1\n100.0,2\n", "the same id twice"),
        ("id,target\n100,x\n", "row 1: 'x' is not a number"),
        ("id,target,Usage\n100,1,private\n", "must hold Public, Private or Ignored"),
        ("id,target,Usage\n100,1,Public\n", "marks no row Private"),
        ("id,target\n100\n", "row 1 has 1 cells"),
    ],
)
def test_a_broken_answer_key_is_the_tasks_fault(tasks, tmp_path, text, message):
    task = rewrite_answers(tasks["number"], tmp_path, text)
    with pytest.raises(BadInput, match=message) as caught:
        grade_bytes(task, b"id,target\n100,1\n")
    assert str(task.answers) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_answer_key(tasks, tmp_path):
    with pytest.raises(BadInput, match=r"answers\.csv: No such file"):
        grade_bytes(Task(tmp_path, tasks["number"].manifest), b"")


def test_a_manifest_that_contradicts_its_metric(tasks):
    with pytest.raises(BadInput, match="log_loss scores a probability, but a submission holds a number"):
        grade_bytes(spoil(tasks["number"], metric="log_loss"), b"")
    with pytest.raises(BadInput, match="lower_is_better"):
        grade_bytes(spoil(tasks["number"], lower_is_better=False), b"")
    form = tasks["label"].manifest.submission.model_copy(update={"classes": ("1", "1.0")})
    with pytest.raises(BadInput, match="can't be told apart"):
        grade_bytes(spoil(tasks["label"], submission=form), b"")


@robust
@given(data=st.binary(max_size=400))
def test_random_bytes_never_raise(any_task, data):
    report = grade_bytes(any_task[1], data)
    assert isinstance(report, GradeReport)
    assert not report.valid


@robust
@given(
    text=st.lists(
        st.lists(
            st.sampled_from(["id", "target", "100", "101", "1", "0.5", "nan", "", '"', "\r", "low", "1e400", "é"])
            | st.text(max_size=5),
            max_size=4,
        ),
        max_size=12,
    )
)
def test_random_tables_never_raise(any_task, text):
    data = "\n".join(",".join(row) for row in text).encode("utf-8", "surrogatepass")
    assert isinstance(grade_bytes(any_task[1], data), GradeReport)


@robust
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 3), st.binary(max_size=4)),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_submissions_never_raise(any_task, perfect, to_bytes, tmp_path, edits):
    kind, task = any_task
    data = to_bytes(perfect(kind))
    for start, length, insert in edits:
        data = data[:start] + insert + data[start + length :]
    path = tmp_path / "submission.csv"
    path.write_bytes(data)
    report = grade_submission(task, path)
    assert report == grade_bytes(task, data)
    assert report.valid or report.detail
    assert report.error is None or len(report.detail) < 200


@robust
@given(order=st.permutations(range(10)))
def test_the_order_of_rows_does_not_matter(any_task, perfect, to_bytes, order):
    kind, task = any_task
    rows = perfect(kind)
    shifted = [[name[0], *cells[1:]] for name, cells in zip(rows[1:], rows[2:] + rows[1:2], strict=True)]
    expected = grade_bytes(task, to_bytes([rows[0], *shifted]))
    assert expected.valid
    assert grade_bytes(task, to_bytes([rows[0], *(shifted[row] for row in order)])) == expected


def test_ignored_rows_must_be_there_but_count_nowhere(tasks, tmp_path, perfect, to_bytes):
    usage = ["Ignored"] * 2 + ["Public"] * 3 + ["Private"] * 5
    text = "id,target,Usage\n" + "".join(f"{100 + row},{row},{what}\n" for row, what in enumerate(usage))
    task = rewrite_answers(tasks["number"], tmp_path, text)
    key = load_answers(task)
    assert (key.private.sum(), key.public.sum()) == (5, 3)
    rows = [["id", "target"], *([str(100 + row), str(row + 1000 * (row < 2))] for row in range(10))]
    report = grade_bytes(task, to_bytes(rows))
    assert (report.score, report.public_score) == (0.0, 0.0)
    assert grade_bytes(task, to_bytes(rows[:1] + rows[3:])).error is GradeError.MISSING_ROWS


@pytest.mark.parametrize(("first", "valid"), [("0.90001", True), ("0.9001", False), ("0.8", False)])
def test_class_probabilities_that_must_sum_to_1(first, valid, tasks, perfect, to_bytes):
    form = tasks["class_probabilities"].manifest.submission.model_copy(update={"sums_to_one": True})
    rows = [perfect("class_probabilities")[0], *([name, first, "0.1", "0"] for name, *_ in perfect("number")[1:])]
    report = grade_bytes(spoil(tasks["class_probabilities"], submission=form), to_bytes(rows))
    assert report.error is (None if valid else GradeError.OUT_OF_DOMAIN)
    assert grade_bytes(tasks["class_probabilities"], to_bytes(rows)).valid


def test_a_format_says_of_sums_only_what_it_must(tasks):
    form = tasks["class_probabilities"].manifest.submission
    assert "sums_to_one" not in form.model_dump()
    strict = form.model_copy(update={"sums_to_one": True})
    assert type(form).model_validate_json(strict.model_dump_json()) == strict
    with pytest.raises(ValueError, match="have no sum"):
        type(form).model_validate(tasks["number"].manifest.submission.model_dump() | {"sums_to_one": True})


def test_a_format_that_only_a_benchmark_knows_needs_its_grader(tasks):
    with pytest.raises(BadInput, match="its benchmark's own grader"):
        grade_bytes(spoil(tasks["number"], submission=None), b"id\n1\n")
    with pytest.raises(BadInput, match="in a format of its benchmark"):
        grade_predictions(spoil(tasks["number"], submission=None).manifest, load_answers(tasks["number"]), np.zeros(10))


def test_many_long_texts_are_compared_without_swelling(tasks, perfect, to_bytes, monkeypatch, tmp_path):
    task = spoil(tasks["text"], metric="exact_match", lower_is_better=False)
    rows = perfect("text")
    rows[10][1] += "!"
    usual = grade_bytes(task, to_bytes(rows)).score
    monkeypatch.setattr(_cells, "MAX_FIXED", 5)
    key = read_answers(task.answers, task.manifest.submission)
    assert key.truth.dtype == object
    written = tmp_path / "submission.csv"
    written.write_bytes(to_bytes(rows))
    assert [usual, grade_submission(task, written, key=key).score] == [6 / 7] * 2


def test_a_large_sample_submission_allows_large_submissions(tasks, tmp_path):
    task = Task(tmp_path, tasks["number"].manifest)
    assert size_limit(task) == MAX_BYTES
    task.public.mkdir(parents=True)
    with (task.public / "sample_submission.csv").open("wb") as stream:
        stream.truncate(MAX_BYTES)
    assert size_limit(task) == 4 * MAX_BYTES
