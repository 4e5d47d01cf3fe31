from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sandmle.eval.acceptance import Verdict, calibrate, judge
from sandmle.eval.acceptance._labels import read_target
from sandmle.eval.acceptance._nulls import LeakTest
from sandmle.eval.acceptance.label_noise import _unexplained

PROBES = ("adversarial", "duplicates", "files", "identifiers", "label_noise", "lone_column", "row_order", "shift")


def _audit(evidence):
    calibration = calibrate(evidence, resamples=2)
    verdicts = [judge(name, evidence, calibration) for name in PROBES]
    reason = "; ".join(verdict.reason for verdict in verdicts if not verdict.passed)
    numbers = {name: value for verdict in verdicts for name, value in verdict.numbers.items()}
    return Verdict(probe="audit", passed=not reason, reason=reason, numbers=numbers)


def _take(evidence, train_rows, test_rows):
    """The same task with other rows: everything that is aligned to the test follows."""
    return replace(
        evidence,
        train=evidence.train.iloc[train_rows].reset_index(drop=True),
        test=evidence.test.iloc[test_rows].reset_index(drop=True),
        sample=evidence.sample.iloc[test_rows].reset_index(drop=True),
        truth=evidence.truth[test_rows],
        private=evidence.private[test_rows],
        predictions={k: tuple(run[test_rows] for run in runs) for k, runs in evidence.predictions.items()},
        bayes=evidence.bayes[test_rows],
        search=(),
    )


def _with_ids(evidence, train_ids, test_ids):
    return replace(
        evidence,
        train=evidence.train.assign(row_id=train_ids),
        test=evidence.test.assign(row_id=test_ids),
        sample=evidence.sample.assign(row_id=test_ids),
    )


def _labels(evidence):
    return read_target(evidence.train, evidence.target, evidence.submission)


@pytest.fixture(params=["binary", "regression"])
def clean(request):
    return request.getfixturevalue(request.param)


def test_clean_tasks_raise_few_alarms(make_evidence):
    alarms: list[str] = []
    for seed in range(100, 116):
        verdict = _audit(make_evidence(seed, ("binary", "regression")[seed % 2], n_test=300))
        alarms += [verdict.reason] if verdict.reason else []
    assert not alarms


def test_ids_sorted_by_label_are_found(clean):
    n = len(clean.train)
    labels = np.concatenate([_labels(clean), clean.truth])
    ids = np.argsort(np.argsort(labels, kind="stable"))
    assert "the identifier tells of the target" in _audit(_with_ids(clean, ids[:n], ids[n:])).reason


def test_a_number_inside_a_text_id_is_read(clean):
    n = len(clean.train)
    labels = np.concatenate([_labels(clean), clean.truth])
    ids = np.array([f"R-{k}x" for k in np.argsort(np.argsort(labels, kind="stable"))], dtype=object)
    assert "the identifier tells of the target" in _audit(_with_ids(clean, ids[:n], ids[n:])).reason


@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_the_parity_of_ids_is_found(clean, kept):
    rng = np.random.default_rng(0)
    labels = np.concatenate([_labels(clean), clean.truth])
    high = labels > np.median(labels) if not clean.submission.classes else labels == 1
    parity = np.where(rng.random(len(high)) < kept, high, rng.random(len(high)) < 0.5)
    ids = 2 * rng.permutation(len(high)) + parity
    n = len(clean.train)
    assert "the identifier tells of the target" in _audit(_with_ids(clean, ids[:n], ids[n:])).reason


def test_ids_that_stand_in_train_and_test_are_found(binary):
    ids = binary.test["row_id"].to_numpy().copy()
    ids[:3] = binary.train["row_id"].to_numpy()[:3]
    assert "3 identifiers stand in train and in test" in _audit(_with_ids(binary, binary.train["row_id"], ids)).reason


def test_sorted_training_rows_are_found(clean):
    sorted_rows = np.argsort(_labels(clean), kind="stable")
    verdict = _audit(_take(clean, sorted_rows, np.arange(len(clean.test))))
    assert "order of the training rows" in verdict.reason
    assert verdict.numbers["test_order_z"] < 5


def test_sorted_test_rows_are_found(clean):
    sorted_rows = np.argsort(clean.truth, kind="stable")
    assert "order of the test rows" in _audit(_take(clean, np.arange(len(clean.train)), sorted_rows)).reason


def test_runs_of_equal_labels_are_found(binary):
    ones, zeros = np.flatnonzero(binary.truth == 1), np.flatnonzero(binary.truth == 0)
    m = min(len(ones), len(zeros)) // 4 * 4
    runs = np.stack([ones[:m].reshape(-1, 4), zeros[:m].reshape(-1, 4)], axis=1).reshape(-1)
    assert "order of the test rows" in _audit(_take(binary, np.arange(len(binary.train)), runs)).reason


def test_forty_duplicated_rows_are_found(clean):
    test = clean.test.copy()
    features = [name for name in test if name != "row_id"]
    test.loc[test.index[50:90], features] = clean.train.loc[clean.train.index[:40], features].to_numpy()
    test = test.astype(clean.test.dtypes.to_dict())
    assert "rows of train stand in test again (z=" in _audit(replace(clean, test=test)).reason


def test_chance_duplicates_of_a_coarse_table_are_no_leak(clean):
    coarse = {"train": clean.train.copy(), "test": clean.test.copy()}
    for frame in coarse.values():
        for name in ("depth", "flow", "load"):
            frame[name] = (frame[name] > frame[name].median()).astype(float)
    verdict = _audit(replace(clean, **coarse))
    assert "train stand in test" not in verdict.reason


def _with_column(evidence, train_values, test_values):
    return replace(
        evidence, train=evidence.train.assign(extra=train_values), test=evidence.test.assign(extra=test_values)
    )


def test_a_copied_target_is_found(clean):
    verdict = _audit(_with_column(clean, _labels(clean), clean.truth))
    assert "the column 'extra' alone gives the target away" in verdict.reason


def test_a_copied_target_is_found_for_labels_too(binary):
    from sandmle.eval.metrics import get_metric

    labels = {k: tuple((run > 0.5).astype(float) for run in runs) for k, runs in binary.predictions.items()}
    evidence = replace(
        binary,
        metric=get_metric("accuracy"),
        submission=binary.submission.model_copy(update={"kind": "label"}),
        predictions=labels,
        bayes=(binary.bayes > 0.5).astype(float),
        sample=binary.sample.assign(**{"yield": "no"}),
        search=(),
    )
    assert _audit(evidence).passed
    names = np.array(["alpha", "beta"], dtype=object)
    copied = _with_column(evidence, names[_labels(binary).astype(int)], names[binary.truth.astype(int)])
    assert "the column 'extra' alone gives the target away" in _audit(copied).reason


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_a_noisy_proxy_of_the_target_is_found(clean, spread):
    rng = np.random.default_rng(5)
    scale = 0.5 if clean.submission.classes else float(np.std(clean.truth))
    noisy = [y + spread * scale * rng.exponential(size=len(y)) for y in (_labels(clean), clean.truth)]
    assert "carries the noise of the hidden target" in _audit(_with_column(clean, *noisy)).reason


def test_a_strong_honest_feature_is_no_leak(clean):
    signal = np.log(clean.bayes / (1 - clean.bayes)) if clean.submission.classes else clean.bayes
    rng = np.random.default_rng(3)
    test_values = signal + rng.normal(0, 1, len(signal))
    train_values = rng.choice(test_values, len(clean.train))
    assert "noise of the hidden target" not in _audit(_with_column(clean, train_values, test_values)).reason


def test_a_one_sigma_shift_is_found(clean):
    test = clean.test.assign(depth=clean.test["depth"] + 2.0)
    assert "features differ between train and test" in _audit(replace(clean, test=test)).reason


def test_a_shifted_category_is_found(clean):
    zone = clean.test["zone"].where(np.arange(len(clean.test)) % 2 == 0, "north")
    assert "features differ between train and test" in _audit(replace(clean, test=clean.test.assign(zone=zone))).reason


def test_values_missing_in_test_only_are_found(clean):
    load = clean.test["load"].where(np.arange(len(clean.test)) % 5 != 0)
    assert "features differ between train and test" in _audit(replace(clean, test=clean.test.assign(load=load))).reason


def test_label_shift_is_found(clean):
    high = clean.truth > np.median(clean.truth) if not clean.submission.classes else clean.truth == 1
    kept = np.flatnonzero(high | (np.arange(len(high)) % 3 == 0))
    assert "the target differs between train and test" in _audit(_take(clean, np.arange(len(clean.train)), kept)).reason


def test_dates_and_booleans_are_audited(clean):
    rng = np.random.default_rng(0)
    n, m = len(clean.train), len(clean.test)
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n + m), unit="D")
    text = days.strftime("%Y-%m-%d").to_numpy(dtype=object)
    flag = rng.random(n + m) < 0.5
    fine = replace(
        clean,
        train=clean.train.assign(day=text[:n], flag=flag[:n]),
        test=clean.test.assign(day=text[n:], flag=flag[n:]),
    )
    assert _audit(fine).passed
    later = (days + pd.Timedelta(days=90)).strftime("%Y-%m-%d").to_numpy(dtype=object)
    assert "features differ" in _audit(replace(fine, test=fine.test.assign(day=later[n:]))).reason


def test_a_null_of_too_few_draws_is_refused():
    with pytest.raises(ValueError, match="50 draws"):
        LeakTest(0.0, np.zeros(49))


def test_rounding_errors_of_a_column_that_is_explained_whole_are_no_data() -> None:
    rng = np.random.default_rng(0)
    bayes = rng.random((500, 1))
    explained = np.column_stack([3.0 + 0 * bayes, 1e6 * bayes, np.argsort(np.argsort(bayes, axis=0), axis=0)])
    left = _unexplained(np.hstack([explained, rng.random((500, 1))]), bayes)
    assert (left[:, :3] == 0).all()
    assert left[:, 3].std() > 0.2
