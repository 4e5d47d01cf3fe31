"""The registry, the undefined cases, and the promise that a score function's source stands alone."""

import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.eval.metrics import MetricUndefined, get_metric, metric_names
from sandmle.task import PredictionKind, ProblemType

NAMES = metric_names()
UNITS = tuple(name for name in NAMES if get_metric(name).units)
WHOLE = {
    "average_precision",
    "balanced_accuracy",
    "concordance",
    "f1",
    "gini",
    "macro_f1",
    "macro_roc_auc",
    "mcc",
    "mean_column_auc",
    "median_absolute_error",
    "micro_f1",
    "pearson",
    "quadratic_kappa",
    "r2",
    "roc_auc",
    "spearman",
}
EVALUATOR = """
from __future__ import annotations

import numpy as np


class MetricUndefined(ValueError):
    pass


"""


def test_every_kind_of_prediction_has_metrics():
    assert len(NAMES) == 46
    assert {get_metric(name).prediction for name in NAMES} == set(get_args(PredictionKind))
    assert set().union(*(get_metric(name).problem_types for name in NAMES)) == set(get_args(ProblemType))
    assert len({get_metric(name).title for name in NAMES}) == len(NAMES)


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(BadInput, match=r"unknown metric 'auc'; choose from accuracy, .*token_accuracy"):
        get_metric("auc")


def test_a_metric_has_a_whole_or_units():
    with pytest.raises(ValueError, match="either whole or units"):
        replace(get_metric("mae"), whole=get_metric("r2").whole)
    with pytest.raises(ValueError, match="either whole or units"):
        replace(get_metric("mae"), units=None)


@pytest.mark.parametrize("name", NAMES)
def test_the_source_of_a_metric_stands_alone(name, draw):
    metric = get_metric(name)
    namespace = {}
    exec(EVALUATOR + metric.source(), namespace)
    for seed in range(3):
        truth, prediction = draw(metric, seed)
        score = metric.score(truth, prediction)
        assert type(score) is float
        assert namespace["metric_score"](truth, prediction) == score


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_prediction_beats_a_random_one_in_the_metrics_direction(name, draw, perfect):
    metric = get_metric(name)
    truth, prediction = draw(metric)
    best, other = metric.score(truth, perfect(metric, truth)), metric.score(truth, prediction)
    assert best < other if metric.lower_is_better else best > other
    assert best == pytest.approx(0.0 if metric.lower_is_better else 1.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_left_alone(name, draw):
    metric = get_metric(name)
    truth, prediction = draw(metric)
    before = truth.copy(), prediction.copy()
    metric.score(truth, prediction)
    assert np.array_equal(truth, before[0])
    assert np.array_equal(prediction, before[1])


def test_what_is_no_mean_of_units():
    assert set(NAMES) - set(UNITS) == WHOLE


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(UNITS), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_a_score_comes_from_the_mean_of_its_units_one_a_row_or_group(draw, name, seed, n):
    metric = get_metric(name)
    truth, prediction = draw(metric, seed, n)
    units = metric.units(truth, prediction)
    groups = sorted(set(truth[:, 1])) if metric.prediction == "relevance" else range(n)
    assert units.shape == (len(groups),)
    weights = metric.weights(truth, prediction) if metric.weights else np.ones(len(groups))
    assume(weights.sum() > 0)
    assert metric.score(truth, prediction) == pytest.approx(metric.finish(units.sum() / weights.sum()), rel=1e-12)
    for place, group in enumerate(groups):
        rows = truth[:, 1] == group if metric.prediction == "relevance" else np.arange(n) == group
        alone = metric.units(truth[rows], prediction[rows])
        assert alone == pytest.approx(units[[place]], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_note_tells_a_competitor_what_is_measured(name):
    note = get_metric(name).note
    assert note.endswith(".")
    assert 50 < len(note) < 500
    assert re.search(r"between|or more|perfect", note), "no range"
    assert not re.search(r"\bbetter|best|worst|maximi[sz]e|minimi[sz]e|coefficient|logit|[*<>=^\[\]]", note)
    assert not any(get_metric(other).title.lower() in note.lower() for other in NAMES), "names another metric"


@pytest.mark.parametrize(
    ("name", "truth", "prediction"),
    [
        ("roc_auc", [1, 1], [0.2, 0.3]),
        ("roc_auc", [0, 0], [0.2, 0.3]),
        ("r2", [0.1, 0.1, 0.1], [1.0, 2.0, 3.0]),
        ("mape", [0.0, 1.0], [1.0, 1.0]),
        ("rmsle", [1.0, 2.0], [-0.1, 2.0]),
        ("rmsle", [-0.1, 2.0], [1.0, 2.0]),
        ("quadratic_kappa", [2, 2], [2, 2]),
        ("multiclass_log_loss", [0, 1], [[0.0, 0.0], [0.5, 0.5]]),
        ("multiclass_brier", [0, 1], [[0.0, 0.0], [0.5, 0.5]]),
        ("macro_roc_auc", [0, 1], [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]),
        ("gini", [1, 1], [0.2, 0.3]),
        ("average_precision", [0, 0], [0.2, 0.3]),
        ("mean_column_auc", [[1, 0], [1, 1]], [[0.2, 0.3], [0.1, 0.1]]),
        ("rmspe", [0.0, 1.0], [1.0, 1.0]),
        ("pearson", [2.0, 2.0], [1.0, 3.0]),
        ("spearman", [2.0, 2.0], [1.0, 3.0]),
        ("concordance", [2.0, 2.0], [1.0, 3.0]),
        ("character_error_rate", ["", ""], ["a", ""]),
        ("token_accuracy", ["", " "], ["a", ""]),
    ],
)
def test_undefined_cases_say_so(name, truth, prediction):
    with pytest.raises(MetricUndefined, match=r"^[A-Za-z0-9 ]+: .+"):
        get_metric(name).score(np.array(truth), np.array(prediction))


def test_mcc_of_a_constant_prediction_is_zero():
    assert get_metric("mcc").score(np.array([0, 1, 1]), np.array([1, 1, 1])) == 0.0


def test_hand_computed():
    truth, prediction = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.1, 0.4, 0.4, 0.4])
    assert get_metric("roc_auc").score(truth, prediction) == pytest.approx((2 + 1) / 4)
    assert get_metric("smape").score(np.array([0.0, 1.0]), np.array([0.0, 3.0])) == pytest.approx(0.5)
    assert get_metric("quadratic_kappa").score(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 0])) == pytest.approx(
        1 - (9 / 4) / ((14 + 5) / 4 - 2 * (6 / 4) * (3 / 4))
    )
