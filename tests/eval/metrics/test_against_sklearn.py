"""Every metric equals scikit-learn's on random rows, with ties, missing classes and degenerate draws included."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from sandmle.eval.metrics import MetricUndefined, get_metric


def score(name, truth, prediction):
    return get_metric(name).score(np.asarray(truth), np.asarray(prediction))


def rows(*columns, min_size=1):
    return st.lists(st.tuples(*columns), min_size=min_size, max_size=60).map(
        lambda drawn: tuple(np.array(column) for column in zip(*drawn, strict=True))
    )


checked = settings(deadline=None, max_examples=50)
CLASS = st.integers(0, 4)
PROBABILITY = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
NUMBER = st.floats(-1e6, 1e6)
POSITIVE = st.floats(1e-3, 1e6)


@checked
@given(rows(CLASS, CLASS), st.sampled_from([np.int64, np.float64]))
def test_labels(drawn, dtype):
    truth, prediction = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {
            "accuracy": sk.accuracy_score(truth, prediction),
            "macro_f1": sk.f1_score(truth, prediction, average="macro"),
            "mcc": sk.matthews_corrcoef(truth, prediction),
        }
    for name, value in expected.items():
        assert score(name, truth.astype(dtype), prediction.astype(dtype)) == pytest.approx(value, abs=1e-12)


@checked
@given(rows(CLASS, CLASS))
def test_quadratic_kappa(drawn):
    truth, prediction = drawn
    if len({*truth, *prediction}) == 1:
        with pytest.raises(MetricUndefined):
            score("quadratic_kappa", truth, prediction)
        return
    expected = sk.cohen_kappa_score(truth, prediction, weights="quadratic", labels=range(5))
    assert score("quadratic_kappa", truth, prediction) == pytest.approx(expected, abs=1e-12)


@checked
@given(rows(st.integers(0, 1), PROBABILITY))
def test_log_loss(drawn):
    truth, prediction = drawn
    expected = sk.log_loss(truth, prediction, labels=[0, 1])
    assert score("log_loss", truth.astype(float), prediction) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@checked
@given(rows(st.integers(0, 2), st.floats(0, 1), st.floats(0, 1), st.floats(1e-9, 1)))
def test_multiclass_log_loss(drawn):
    truth, *columns = drawn
    prediction = np.column_stack(columns)
    normalised = prediction / prediction.sum(axis=1, keepdims=True)
    expected = sk.log_loss(truth, normalised, labels=[0, 1, 2])
    assert score("multiclass_log_loss", truth, prediction) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@checked
@given(rows(st.integers(0, 1), PROBABILITY))
def test_roc_auc(drawn):
    truth, prediction = drawn
    if len(set(truth)) == 1:
        with pytest.raises(MetricUndefined):
            score("roc_auc", truth, prediction)
        return
    positives, negatives = prediction[truth == 1], prediction[truth == 0]
    wins = (positives[:, None] > negatives).mean() + 0.5 * (positives[:, None] == negatives).mean()
    assert score("roc_auc", truth, prediction) == pytest.approx(wins, abs=1e-12)


@checked
@given(st.integers(0, 2**32 - 1), st.integers(2, 2000), st.integers(1, 50))
def test_roc_auc_on_many_tied_rows(seed, n, levels):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    truth[:2] = 0, 1
    prediction = rng.integers(0, levels, n) / levels
    assert score("roc_auc", truth, prediction) == pytest.approx(sk.roc_auc_score(truth, prediction), abs=1e-12)


@checked
@given(rows(NUMBER, NUMBER))
def test_rmse_and_mae(drawn):
    truth, prediction = drawn
    assert score("rmse", truth, prediction) == pytest.approx(sk.root_mean_squared_error(truth, prediction), rel=1e-9)
    assert score("mae", truth, prediction) == pytest.approx(sk.mean_absolute_error(truth, prediction), rel=1e-9)


@checked
@given(rows(st.floats(0, 1e6), st.floats(0, 1e6)))
def test_rmsle(drawn):
    truth, prediction = drawn
    expected = sk.root_mean_squared_log_error(truth, prediction)
    assert score("rmsle", truth, prediction) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@checked
@given(rows(st.integers(-1000, 1000).map(float), NUMBER, min_size=2))
def test_r2(drawn):
    truth, prediction = drawn
    if len(set(truth)) == 1:
        with pytest.raises(MetricUndefined):
            score("r2", truth, prediction)
        return
    assert score("r2", truth, prediction) == pytest.approx(sk.r2_score(truth, prediction), rel=1e-9, abs=1e-9)


@checked
@given(rows(POSITIVE, NUMBER, st.sampled_from([-1.0, 1.0])))
def test_mape(drawn):
    size, prediction, sign = drawn
    expected = sk.mean_absolute_percentage_error(size * sign, prediction)
    assert score("mape", size * sign, prediction) == pytest.approx(expected, rel=1e-9)


@checked
@given(rows(NUMBER | st.just(0.0), NUMBER | st.just(0.0)))
def test_smape_is_the_mean_of_its_rows(drawn):
    truth, prediction = drawn
    terms = [
        0.0 if t == p else 2 * abs(t - p) / (abs(t) + abs(p))
        for t, p in zip(truth.tolist(), prediction.tolist(), strict=True)
    ]
    assert score("smape", truth, prediction) == pytest.approx(sum(terms) / len(terms), rel=1e-9, abs=1e-12)
