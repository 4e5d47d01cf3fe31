from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from sandmle.eval.acceptance import Calibration, calibrate
from sandmle.eval.acceptance.calibration import place_thresholds
from sandmle.eval.metrics import MetricUndefined


def test_thresholds_by_hand_when_larger_is_better():
    found = place_thresholds(0.5, 0.7, 0.8, 1.0)
    assert (found.median, found.bronze, found.silver, found.gold) == (0.6, 0.68, 0.74, 0.78)


def test_thresholds_by_hand_when_smaller_is_better():
    # rmse 10, 6 and 4: median 8, bronze 6.4, silver 5.2, gold 4.4
    found = place_thresholds(-10.0, -6.0, -4.0, -1.0)
    assert (found.median, found.bronze, found.silver, found.gold) == (8.0, 6.4, 5.2, 4.4)


def test_thresholds_have_six_significant_digits():
    found = place_thresholds(0.0, 2 / 3, 1.0, 1.0)
    assert found.median == 0.333333
    assert found.gold == 0.933333


@given(
    st.floats(-1e3, 1e3),
    st.floats(1e-2, 1e3),
    st.floats(1e-2, 1e3),
    st.sampled_from([1.0, -1.0]),
)
def test_thresholds_rise_strictly_towards_better(dummy, lower_gap, upper_gap, sign):
    found = place_thresholds(dummy, dummy + lower_gap, dummy + lower_gap + upper_gap, sign)
    if found is None:  # only where 6 digits can't tell them apart
        assert min(lower_gap, upper_gap) * 0.4 <= 2e-5 * (abs(dummy) + lower_gap + upper_gap)
        return
    better = [sign * value for value in (found.median, found.bronze, found.silver, found.gold)]
    assert all(low < high for low, high in pairwise(better))


@pytest.mark.parametrize("scores", [(0.5, 0.5, 0.6), (0.5, 0.6, 0.6), (0.6, 0.5, 0.7), (0.5, 0.7, 0.6)])
def test_no_thresholds_without_a_strict_order(scores):
    assert place_thresholds(*scores, 1.0) is None


def _naive(evidence, lower, upper, resamples):
    """The textbook paired bootstrap, with scikit-learn's metric and Python loops."""
    rng = evidence.generator("calibration")
    private = np.flatnonzero(evidence.private)
    differences = []
    for _ in range(resamples):
        rows = [private[k] for k in rng.integers(len(private), size=len(private))]
        truth = [evidence.truth[row] for row in rows]
        gaps = []
        for low, high in zip(evidence.predictions[lower], evidence.predictions[upper], strict=True):
            gaps.append(
                roc_auc_score(truth, [high[row] for row in rows]) - roc_auc_score(truth, [low[row] for row in rows])
            )
        differences.append(sum(gaps) / len(gaps))
    return differences


def test_bootstrap_equals_a_naive_one(binary):
    found = calibrate(binary, resamples=40)
    for step in found.steps:
        differences = _naive(binary, step.lower, step.upper, 40)
        assert step.resamples == 40
        assert step.p == np.mean([difference > 0 for difference in differences])
        assert step.sd == pytest.approx(np.std(differences, ddof=1), rel=1e-9)
        assert step.z == pytest.approx(step.difference / np.std(differences, ddof=1), rel=1e-9)


@pytest.mark.parametrize("name", ["binary", "regression"])
def test_a_good_ladder_calibrates(name, request):
    evidence = request.getfixturevalue(name)
    found = calibrate(evidence)
    assert found.problem == ""
    assert found.dummy < found.generic < found.informed < found.bayes
    assert found.best_generic == "linear"
    assert found.rungs["informed"].headroom > found.rungs["linear"].headroom > 0
    assert found.rungs["dummy"].headroom == 0
    assert found.sign * found.rungs["linear"].mean == pytest.approx(found.generic)
    assert found.headroom(found.bayes) == 1
    assert all(step.separable for step in found.steps)
    assert found == calibrate(evidence)
    assert Calibration.model_validate_json(found.to_text()) == found


def test_an_informed_rung_that_loses_is_named_with_its_scores(binary):
    swapped = {**binary.predictions, "informed": binary.predictions["linear"], "linear": binary.predictions["informed"]}
    found = calibrate(replace(binary, predictions=swapped))
    assert found.thresholds is None
    assert found.problem.startswith("informed 0.")
    assert "does not beat generic linear 0." in found.problem
    assert "P=0.00" in found.problem


def test_equal_rungs_give_finite_numbers_and_a_problem(binary):
    flat = binary.predictions["dummy"]
    found = calibrate(replace(binary, predictions=dict.fromkeys(binary.predictions, flat), bayes=flat[0]), 20)
    assert found.thresholds is None
    assert found.rungs["linear"].headroom is None
    assert found.steps[0].z == found.steps[0].p == 0
    assert "does not beat" in found.problem

    def walk(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return all(walk(item) for item in value)
        return not isinstance(value, float) or math.isfinite(value)

    assert walk(json.loads(found.to_text()))


def test_a_step_within_the_noise_keeps_thresholds_but_is_a_problem(binary):
    nearly = tuple(run + 1e-9 * (binary.truth == 1) for run in binary.predictions["linear"])
    few = np.zeros(len(binary.truth), bool)
    few[:8] = True
    informed = tuple(np.where(few, binary.truth, run) for run in nearly)
    found = calibrate(replace(binary, predictions={**binary.predictions, "informed": informed}), 200)
    assert found.informed > found.generic
    assert not found.steps[1].separable
    assert found.thresholds is not None
    assert "is not separable from generic linear" in found.problem


def test_resamples_without_both_classes_are_dropped(make_evidence):
    evidence = make_evidence(3, n_test=300)

    def score(truth, prediction):
        if len(np.unique(truth)) < 2:
            raise MetricUndefined("one class")
        return float(roc_auc_score(truth, prediction))

    rare = np.flatnonzero(evidence.private)[:1]
    truth = np.zeros(300)
    truth[rare] = 1.0
    found = calibrate(replace(evidence, truth=truth, metric=replace(evidence.metric, whole=score)), 100)
    assert 40 < found.steps[0].resamples < 90
    assert found.rungs["dummy"].public == (None, None, None)
    with pytest.raises(MetricUndefined):
        calibrate(replace(evidence, truth=np.zeros(300), metric=replace(evidence.metric, whole=score)))


def test_evidence_refuses_what_is_not_aligned(binary):
    with pytest.raises(ValueError, match="bayes: not aligned"):
        replace(binary, bayes=binary.bayes[:-1])
    with pytest.raises(ValueError, match="informed"):
        replace(binary, predictions={"dummy": binary.predictions["dummy"]})
