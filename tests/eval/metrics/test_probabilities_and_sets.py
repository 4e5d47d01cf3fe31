"""Newer metrics of labels, probabilities, sets and masks against scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from sandmle.eval.metrics import MetricUndefined, get_metric

checked = settings(deadline=None, max_examples=40)
SEED, ROWS = st.integers(0, 2**32 - 1), st.integers(1, 60)


def score(name, truth, prediction):
    return get_metric(name).score(truth, prediction)


@checked
@given(SEED, ROWS, st.integers(1, 5))
def test_labels(seed, n, size):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, size, n), rng.integers(0, size, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = sk.balanced_accuracy_score(truth, prediction)
    assert score("balanced_accuracy", truth.astype(float), prediction.astype(float)) == pytest.approx(expected)
    assert score("ordinal_mae", truth.astype(float), prediction.astype(float)) == pytest.approx(
        sk.mean_absolute_error(truth, prediction)
    )
    truth, prediction = truth % 2, prediction % 2
    assert score("f1", truth, prediction) == pytest.approx(sk.f1_score(truth, prediction, zero_division=0.0))


@checked
@given(SEED, ROWS, st.integers(1, 20))
def test_probability_of_one_class(seed, n, levels):
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, 2, n).astype(float), rng.integers(0, levels + 1, n) / levels
    assert score("brier", truth, prediction) == pytest.approx(sk.brier_score_loss(truth, prediction, labels=[0, 1]))
    if truth.any():
        expected = sk.average_precision_score(truth, prediction)
        assert score("average_precision", truth, prediction) == pytest.approx(expected, abs=1e-12)
    if len(set(truth)) == 2:
        expected = 2 * sk.roc_auc_score(truth, prediction) - 1
        assert score("gini", truth, prediction) == pytest.approx(expected, abs=1e-12)


@checked
@given(SEED, st.integers(3, 60), st.integers(3, 5))
def test_one_probability_per_class(seed, n, size):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, size, n)
    prediction = rng.integers(0, 5, (n, size)) + 0.5
    shares = prediction / prediction.sum(axis=1, keepdims=True)
    hot = np.eye(size)[truth]
    assert score("multiclass_brier", truth, prediction) == pytest.approx(((shares - hot) ** 2).sum(axis=1).mean())
    if len(set(truth)) == size:
        expected = sk.roc_auc_score(truth, shares, multi_class="ovr", average="macro")
        assert score("macro_roc_auc", truth, prediction) == pytest.approx(expected, abs=1e-12)
    else:
        with pytest.raises(MetricUndefined):
            score("macro_roc_auc", truth, prediction)


@checked
@given(SEED, ROWS, st.integers(1, 6), st.integers(1, 20))
def test_one_probability_per_label(seed, n, size, levels):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n, size)).astype(float)
    prediction = rng.integers(0, levels + 1, (n, size)) / levels
    losses = [sk.log_loss(truth[:, k], prediction[:, k], labels=[0, 1]) for k in range(size)]
    assert score("mean_column_log_loss", truth, prediction) == pytest.approx(np.mean(losses), rel=1e-12)
    if size > 1:
        expected = sk.label_ranking_average_precision_score(truth, prediction)
        assert score("label_ranking_average_precision", truth, prediction) == pytest.approx(expected, abs=1e-12)
    if all(0 < truth[:, k].sum() < n for k in range(size)):
        expected = np.mean([sk.roc_auc_score(truth[:, k], prediction[:, k]) for k in range(size)])
        assert score("mean_column_auc", truth, prediction) == pytest.approx(expected, abs=1e-12)


@checked
@given(SEED, ROWS, st.integers(2, 6), st.floats(0, 1))
def test_sets_of_labels_and_masks(seed, n, size, share):
    rng = np.random.default_rng(seed)
    truth, prediction = (rng.random((2, n, size)) < share).astype(float)
    both = {"average": "samples", "zero_division": 1.0}
    overlap = [
        1.0 if not (t.any() or p.any()) else sk.jaccard_score(t, p) for t, p in zip(truth, prediction, strict=True)
    ]
    assert score("jaccard", truth, prediction) == pytest.approx(np.mean(overlap))
    assert score("iou", truth, prediction) == pytest.approx(np.mean(overlap))
    expected = sk.f1_score(truth, prediction, **both)
    assert score("sample_f1", truth, prediction) == pytest.approx(expected)
    assert score("dice", truth, prediction) == pytest.approx(expected)
    expected = sk.f1_score(truth, prediction, average="micro", zero_division=1.0)
    assert score("micro_f1", truth, prediction) == pytest.approx(expected)


def test_hand_computed_sets_and_masks():
    truth = np.array([[1.0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
    prediction = np.array([[0.0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]])
    for name in ("jaccard", "iou"):
        assert score(name, truth, prediction) == pytest.approx((1 / 3 + 1 + 0 + 0) / 4)
    for name in ("sample_f1", "dice"):
        assert score(name, truth, prediction) == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert score("micro_f1", truth, prediction) == pytest.approx(2 * 1 / (3 + 3))


def test_the_tie_of_all_classes_is_half_an_area():
    truth, flat = np.array([0.0, 1, 2]), np.ones((3, 3))
    assert score("macro_roc_auc", truth, flat) == 0.5
