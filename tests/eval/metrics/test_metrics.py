"""The registry, the undefined cases, and the promise that a score function's source stands alone."""

import inspect
import textwrap

import numpy as np
import pytest

from sandmle.errors import BadInput
from sandmle.eval.metrics import MetricUndefined, get_metric, metric_names

NAMES = (
    "accuracy",
    "log_loss",
    "macro_f1",
    "mae",
    "mape",
    "mcc",
    "multiclass_log_loss",
    "quadratic_kappa",
    "r2",
    "rmse",
    "rmsle",
    "roc_auc",
    "smape",
)
EVALUATOR = """
from __future__ import annotations

import numpy as np


class MetricUndefined(ValueError):
    pass


"""


def draw(metric, seed=0, n=200):
    rng = np.random.default_rng(seed)
    match metric.prediction:
        case "label":
            return rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n).astype(float)
        case "probability":
            return rng.integers(0, 2, n).astype(float), rng.integers(0, 11, n) / 10
        case "class_probabilities":
            return rng.integers(0, 3, n).astype(float), rng.random((n, 3))
        case "number":
            return rng.gamma(2, size=n) + 0.1, rng.gamma(2, size=n)


def test_the_names_are_these():
    assert metric_names() == NAMES


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(BadInput, match=r"unknown metric 'auc'; choose from accuracy, .*smape"):
        get_metric("auc")


@pytest.mark.parametrize("name", NAMES)
def test_the_source_of_a_score_function_stands_alone(name):
    metric = get_metric(name)
    namespace = {}
    exec(EVALUATOR + textwrap.dedent(inspect.getsource(metric.score)), namespace)
    pasted = namespace[metric.score.__name__]
    for seed in range(5):
        truth, prediction = draw(metric, seed)
        score = metric.score(truth, prediction)
        assert type(score) is float
        assert pasted(truth, prediction) == score


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_prediction_beats_a_random_one_in_the_metrics_direction(name):
    metric = get_metric(name)
    truth, prediction = draw(metric)
    perfect = np.eye(3)[truth.astype(int)] if metric.prediction == "class_probabilities" else truth
    best, other = metric.score(truth, perfect), metric.score(truth, prediction)
    assert best < other if metric.lower_is_better else best > other
    assert best == pytest.approx(0.0 if metric.lower_is_better else 1.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_left_alone(name):
    metric = get_metric(name)
    truth, prediction = draw(metric)
    before = truth.copy(), prediction.copy()
    metric.score(truth, prediction)
    assert np.array_equal(truth, before[0])
    assert np.array_equal(prediction, before[1])


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
