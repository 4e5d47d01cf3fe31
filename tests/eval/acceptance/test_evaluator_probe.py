from __future__ import annotations

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from sandmle.eval.acceptance._submissions import ODD_CELLS, bad_cells
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
    "label_probabilities": SubmissionFormat(
        id_column="id", prediction_columns=("a", "b", "c"), kind="label_probabilities", classes=("a", "b", "c")
    ),
    "label_set": SubmissionFormat(
        id_column="id", prediction_columns=("tags",), kind="label_set", classes=("a", "b", "c")
    ),
    "ranked_labels": SubmissionFormat(
        id_column="id", prediction_columns=("best",), kind="ranked_labels", classes=("a", "b", "c", "d"), top=3
    ),
    "relevance": SubmissionFormat(
        id_column="id", prediction_columns=("score",), kind="relevance", group_column="query"
    ),
    "text": SubmissionFormat(id_column="id", prediction_columns=("spoken",), kind="text"),
    "mask": SubmissionFormat(id_column="id", prediction_columns=("runs",), kind="mask", mask_shape=(6, 5)),
}
SAMPLES = {"label": "a", "label_set": "none", "ranked_labels": "b a", "text": "", "mask": "none"}
NUMERIC = [name for name in FORMATS if name not in SAMPLES]

CODES = {
    "blank": "empty",
    "spaced_header": "column_case",
    "duplicate_header": "unparsable",
    "ragged": "unparsable",
    "open_quote": "unparsable",
    "nul": "undecodable",
    "latin_1": "undecodable",
}


def _sample(name):
    columns = dict.fromkeys(FORMATS[name].prediction_columns, SAMPLES.get(name, 0.25))
    return pd.DataFrame({"id": np.arange(30) + 500}).assign(**columns)


@pytest.mark.parametrize("name", FORMATS)
def test_random_submissions_are_valid_different_and_repeatable(name):
    sample, form = _sample(name), FORMATS[name]
    found = random_submissions(sample, form, 6, seed=1, domain=(0.0, np.inf))
    assert found == random_submissions(sample, form, 6, seed=1, domain=(0.0, np.inf))
    assert len(set(found)) == 6
    for index, data in enumerate(found):
        frame = pd.read_csv(io.BytesIO(data), skipinitialspace=True)
        assert set(frame) >= set(sample)
        ids = frame["id"].astype(int)
        assert sorted(ids) == list(sample["id"])
        assert (list(ids) == list(sample["id"])) == (index % 2 == 0)


@pytest.mark.parametrize("name", NUMERIC)
def test_random_numbers_are_in_their_domain(name):
    form = FORMATS[name]
    for index, data in enumerate(random_submissions(_sample(name), form, 6, seed=1, domain=(0.0, np.inf))):
        values = pd.read_csv(io.BytesIO(data), skipinitialspace=True)[list(form.prediction_columns)].to_numpy()
        assert (values.max() == 1e200) == (name == "number" and index == 1)
        assert name == "relevance" or values.min() >= 0
        assert name in ("number", "relevance") or values.max() <= 1
        if name == "class_probabilities":
            assert np.allclose(values.sum(axis=1), 1)


def test_random_cells_of_other_kinds_are_all_sorts():
    cells = {}
    for name in SAMPLES:
        frames = [pd.read_csv(io.BytesIO(data), keep_default_na=False) for data in _some(name)]
        cells[name] = {cell.strip() for frame in frames for cell in frame[FORMATS[name].prediction_columns[0]]}
    assert cells["label"] == {"a", "b", "c"}
    assert {"none", "a", "a b c"} <= cells["label_set"]
    assert {len(cell.split()) for cell in cells["ranked_labels"]} == {1, 2, 3}
    assert "none" in cells["mask"]
    assert len(cells["mask"]) > 30
    assert "" in cells["text"]
    assert any('"' in cell and "," in cell for cell in cells["text"])


def _some(name):
    """Those that are written plainly."""
    return random_submissions(_sample(name), FORMATS[name], 9, seed=2)[::4]


def test_random_submissions_take_turns_in_what_a_grader_must_accept():
    plain, windows, columns, loose = random_submissions(_sample("probability"), FORMATS["probability"], 4, seed=1)
    assert plain.startswith(b"id,p\n500,0.")
    assert windows.startswith(b"\xef\xbb\xbfid,p\r\n")
    assert columns.startswith(b",,id,p,id \n0,x,500,0.")
    assert re.match(rb"id,p\n \d+\.0 , 0\.\d+ \n", loose)


@pytest.mark.parametrize("name", FORMATS)
def test_bad_submissions_have_the_fault_of_their_name(name):
    sample, form = _sample(name), FORMATS[name]
    found = bad_submissions(sample, form)
    parsed = (
        "missing_column",
        "column_case",
        "duplicate_ids",
        "missing_rows",
        "extra_rows",
        "header_only",
        "text" if name != "text" else "endless",
    )
    frames = {key: pd.read_csv(io.BytesIO(found[key])) for key in parsed}
    last = form.prediction_columns[-1]
    assert last not in frames["missing_column"]
    assert set(frames["column_case"]) != set(sample)
    assert {column.lower() for column in frames["column_case"]} == set(sample)
    assert frames["duplicate_ids"]["id"].duplicated().sum() == 1
    assert len(frames["missing_rows"]) == 29
    assert len(frames["extra_rows"]) == 31
    assert name == "text" or frames["text"][last].iloc[0] == "certainly"
    assert len(frames["header_only"]) == 0
    assert found["spaced_header"].splitlines()[0] == b", ".join(name.encode() for name in sample)
    assert found["ragged"].splitlines()[1].count(b",") == found["ragged"].splitlines()[2].count(b",") + 1


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
        (_printed(score=float("nan")), "printed no JSON object"),
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


@pytest.mark.parametrize(
    ("printed", "fault"),
    [
        (_printed(), "score is 0.75, not null"),
        ('{"error": "empty"}', "score is 'absent', not null"),
        ('{"score": null}', "error is 'absent', not 'empty'"),
        ('{"score": null, "error": "undecodable"}', "error is 'undecodable', not 'empty'"),
    ],
)
def test_a_bad_submission_must_be_refused_with_the_code_of_the_grader(printed, fault):
    found = judge_evaluator([_report(error=GradeError.EMPTY)], [printed])
    assert not found.passed
    assert fault in found.reason


TRUTHS = {
    "label_probabilities": np.zeros((30, 3)),
    "label_set": np.zeros((30, 3)),
    "relevance": np.zeros((30, 2)),
    "text": np.full(30, "a"),
    "mask": np.zeros((30, 30)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_grader_takes_the_valid_and_refuses_the_broken_ones(name):
    form, sample = FORMATS[name], _sample(name)
    truth = TRUTHS.get(name, np.zeros(30))
    key = AnswerKey(tuple(sample["id"].astype(str)), truth, np.ones(30, dtype=bool))
    for data in random_submissions(sample, form, 4, seed=0):
        assert len(decode_submission(data, form, key)) == 30
    found = bad_submissions(sample, form)
    assert bad_cells(form).keys() <= found.keys()
    for fault, data in found.items():
        with pytest.raises(InvalidSubmission) as refused:
            decode_submission(data, form, key)
        assert refused.value.code == _code(fault, name), fault


def _code(fault, kind):
    if fault in bad_cells(FORMATS[kind]):
        if kind in NUMERIC:
            return "non_finite" if fault in ("nan", "infinite") else "not_numeric"
        if kind == "mask" and fault in ODD_CELLS and fault != "endless":
            return "not_numeric"
        return "out_of_domain"
    return CODES.get(fault, fault)
