from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from sandmle.eval.acceptance.evaluator_probe import bad_submissions, judge_evaluator, random_submissions
from sandmle.eval.grading import AnswerKey, InvalidSubmission, decode_submission
from sandmle.grades import GradeError, GradeReport
from sandmle.task import SubmissionFormat, Thresholds

THRESHOLDS = Thresholds(median=0.6, bronze=0.7, silver=0.8, gold=0.9)
FORMATS = {
    "label": SubmissionFormat(id_column="id", prediction_columns=("kind",), kind="label", classes=("a", "b", "c")),
    "probability": SubmissionFormat(id_column="id", prediction_columns=("p",), kind="probability", classes=("n", "y")),
    "class_probabilities": SubmissionFormat(
        id_column="id", prediction_columns=("a", "b", "c"), kind="class_probabilities", classes=("a", "b", "c")
    ),
    "number": SubmissionFormat(id_column="id", prediction_columns=("price",), kind="number"),
}


def _sample(name):
    columns = dict.fromkeys(FORMATS[name].prediction_columns, "a" if name == "label" else 0.25)
    return pd.DataFrame({"id": np.arange(30) + 500}).assign(**columns)


@pytest.mark.parametrize("name", FORMATS)
def test_random_submissions_are_valid_different_and_repeatable(name):
    sample, form = _sample(name), FORMATS[name]
    found = random_submissions(sample, form, 6, seed=1, domain=(0.0, np.inf))
    assert found == random_submissions(sample, form, 6, seed=1, domain=(0.0, np.inf))
    assert len(set(found)) == 6
    for index, data in enumerate(found):
        frame = pd.read_csv(io.BytesIO(data))
        assert list(frame) == list(sample)
        assert sorted(frame["id"]) == list(sample["id"])
        assert (list(frame["id"]) == list(sample["id"])) == (index % 2 == 0)
        values = frame[list(form.prediction_columns)].to_numpy()
        if name == "label":
            assert set(values.ravel()) <= set(form.classes)
        else:
            assert values.min() >= 0
        if name == "class_probabilities":
            assert np.allclose(values.sum(axis=1), 1)


@pytest.mark.parametrize("name", FORMATS)
def test_bad_submissions_have_the_fault_of_their_name(name):
    sample, form = _sample(name), FORMATS[name]
    found = bad_submissions(sample, form)
    frames = {key: pd.read_csv(io.BytesIO(data)) for key, data in found.items() if data}
    last = form.prediction_columns[-1]
    assert set(found) - set(frames) == {"empty"}
    assert last not in frames["missing_column"]
    assert set(frames["column_case"]) != set(sample)
    assert {column.lower() for column in frames["column_case"]} == set(sample)
    assert frames["duplicate_ids"]["id"].duplicated().sum() == 1
    assert len(frames["missing_rows"]) == 29
    assert len(frames["extra_rows"]) == 31
    assert frames["not_a_number"][last].isna().sum() == 1
    assert frames["text"][last].iloc[0] == "certainly"
    assert len(frames["header_only"]) == 0


def _report(score=None, error=None, lower=False):
    return GradeReport(task_id="t", metric="m", lower_is_better=lower, score=score, error=error, thresholds=THRESHOLDS)


def _printed(**changes):
    answer = {
        "score": 0.75,
        "is_lower_better": False,
        "gold_threshold": 0.9,
        "silver_threshold": 0.8,
        "bronze_threshold": 0.7,
        "median_threshold": 0.6,
    }
    return json.dumps({key: value for key, value in {**answer, **changes}.items() if value != "absent"})


def test_agreement_passes():
    expected = [_report(0.75), _report(error=GradeError.EMPTY), _report(0.75)]
    found = judge_evaluator(expected, [_printed(), '{"score": null, "error": "empty"}\n', _printed(score=0.75 + 4e-13)])
    assert found.passed, found.reason
    assert found.numbers["compared"] == 3
    assert 0 < found.numbers["worst_difference"] < 1e-12


@pytest.mark.parametrize(
    ("printed", "fault"),
    [
        (_printed(score=0.75 + 1e-9), "score is 0.750000001, the grader says 0.75"),
        (_printed(score=None), "score is None"),
        (_printed(score=float("nan")), "score is nan"),
        (_printed(is_lower_better=True), "is_lower_better is True, the grader says False"),
        (_printed(is_lower_better=0), "is_lower_better is 0"),
        (_printed(gold_threshold=0.91), "gold_threshold is 0.91"),
        (_printed(median_threshold="absent"), "median_threshold is None"),
        ("score: 0.75", "printed no JSON object"),
        ("[0.75]", "printed no JSON object"),
    ],
)
def test_disagreement_on_a_valid_submission(printed, fault):
    found = judge_evaluator([_report(0.75)], [printed])
    assert not found.passed
    assert fault in found.reason


@pytest.mark.parametrize("printed", [_printed(), '{"error": "x"}', '{"score": null}', '{"score": null, "error": ""}'])
def test_a_bad_submission_must_be_refused_with_a_reason(printed):
    assert not judge_evaluator([_report(error=GradeError.EMPTY)], [printed]).passed


@pytest.mark.parametrize("name", FORMATS)
def test_the_grader_takes_the_valid_and_refuses_the_broken_ones(name):
    form, sample = FORMATS[name], _sample(name)
    key = AnswerKey(tuple(sample["id"].astype(str)), np.zeros(30), np.ones(30, dtype=bool))
    for data in random_submissions(sample, form, 3, seed=0):
        assert len(decode_submission(data, form, key)) == 30
    for fault, data in bad_submissions(sample, form).items():
        with pytest.raises(InvalidSubmission) as refused:
            decode_submission(data, form, key)
        if fault in set(GradeError):
            assert refused.value.code == fault
