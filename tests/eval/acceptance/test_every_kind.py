from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sandmle.eval.acceptance import calibrate, judge, probe_names
from sandmle.eval.acceptance._labels import read_target

KINDS = (
    "label",
    "probability",
    "class_probabilities",
    "label_probabilities",
    "label_set",
    "ranked_labels",
    "relevance",
    "number",
    "text",
    "mask",
)


@pytest.fixture(scope="module", params=KINDS)
def task(request, make_kind):
    return make_kind(11, request.param, n_test=500)


@pytest.fixture(scope="module")
def pictures(task, make_kind):
    return make_kind(12, task.kind, n_test=500, files=True)


def _labels(evidence):
    labels = read_target(evidence.train, evidence.target, evidence.submission)
    if evidence.kind == "relevance":
        return np.concatenate([labels[:, 0], evidence.truth[:, 0]])
    return np.concatenate([labels, evidence.truth])


def _amount(evidence):
    """One number a label, larger for more of it."""
    labels = _labels(evidence)
    if evidence.kind == "text":
        return np.unique(labels, return_inverse=True)[1].astype(float)
    return labels.sum(axis=1) if labels.ndim == 2 else labels


def _with_column(evidence, values, name="extra"):
    n = len(evidence.train)
    return replace(
        evidence,
        train=evidence.train.assign(**{name: values[:n]}),
        test=evidence.test.assign(**{name: values[n:]}),
    )


def _judge(name, evidence):
    return judge(name, evidence, calibrate(evidence, resamples=2))


@pytest.mark.parametrize(("seed", "n_test", "files"), [(11, 1400, False), (12, 1000, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_task_passes_every_probe(make_kind, kind, seed, n_test, files):
    evidence = make_kind(seed, kind, n_test=n_test, files=files)
    calibration = calibrate(evidence, resamples=100)
    verdicts = {name: judge(name, evidence, calibration) for name in probe_names()}
    assert {name: found.reason for name, found in verdicts.items() if not found.passed} == {}
    tried = {"constant", "random", "sample", "shuffled_sample", "identifier", "row_order", "nearest_duplicate"}
    assert set(verdicts["trivial"].numbers) >= tried


def test_truth_is_read_from_the_cells_of_train(task):
    cells = pd.concat([task.train, task.test.assign(**{task.target: "no such label"})])
    assert len(read_target(cells[: len(task.train)], task.target, task.submission)) == len(task.train)
    if task.kind != "text":
        with pytest.raises(ValueError, match=r"no|could|invalid"):
            read_target(cells, task.target, task.submission)


def test_identifiers_sorted_by_label_are_found(task):
    ids = np.argsort(np.argsort(_amount(task), kind="stable"))
    assert "identifier tells" in _judge("identifiers", _with_column(task, ids, "row_id")).reason


def test_sorted_training_rows_are_found(task):
    order = np.argsort(_amount(task)[: len(task.train)], kind="stable")
    train = task.train.iloc[order].reset_index(drop=True)
    assert "order of the training rows" in _judge("row_order", replace(task, train=train)).reason


def test_a_copied_target_is_found(task):
    truth = pd.Series(make_cells(task))
    copied = np.concatenate([task.train[task.target].to_numpy(object), truth.to_numpy(object)])
    found = _judge("lone_column", _with_column(task, copied))
    assert "'extra' alone gives the target away" in found.reason


def make_cells(evidence):
    """Hidden labels as train.csv would write them."""
    truth, classes = evidence.truth, evidence.submission.classes
    if evidence.kind == "mask":
        return [" ".join(f"{k + 1} 1" for k in np.flatnonzero(row)) or "none" for row in truth]
    if evidence.kind in ("label_set", "label_probabilities"):
        return [" ".join(classes[k] for k in np.flatnonzero(row)) or "none" for row in truth]
    if classes:
        return [classes[int(k)] for k in truth]
    return list(truth[:, 0] if evidence.kind == "relevance" else truth)


def test_duplicated_pictures_are_found(pictures):
    train, test = pictures.features
    again = test.copy()
    again.iloc[30:70] = train.iloc[:40].to_numpy()
    found = _judge("duplicates", replace(pictures, features=(train, again)))
    assert "items of train stand in test again" in found.reason


def test_files_that_stand_in_test_again_are_found_without_any_feature(pictures):
    bare = replace(pictures, features=None)
    assert "files of train" not in _judge("duplicates", bare).reason
    files = bare.files.copy()
    train, test = files["split"] == "train", files["split"] == "test"
    again = test & files["row"].between(30, 69)
    files.loc[again, "digest"] = files.loc[train & (files["row"] < 40), "digest"].to_numpy()
    assert "files of train stand in test again" in _judge("duplicates", replace(bare, files=files)).reason


def test_shifted_pictures_are_found_unless_declared(pictures):
    train, test = pictures.features
    shifted = replace(pictures, features=(train, test.assign(pixel_load=test["pixel_load"] + 1)))
    assert "features differ" in _judge("shift", shifted).reason
    assert "tells test rows" in _judge("adversarial", shifted).reason
    declared = replace(shifted, declared_shift=("pixel_load",))
    assert _judge("shift", declared).passed
    assert _judge("adversarial", declared).passed


NO_RESIDUAL = ("label", "label_set", "ranked_labels", "relevance", "mask")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*NO_RESIDUAL, "text")])
@pytest.mark.parametrize(
    "noise", [pytest.param(1.0, marks=pytest.mark.slow), 2.0, pytest.param(4.0, marks=pytest.mark.slow)]
)
def test_a_noisy_proxy_is_found_by_the_residual(make_kind, kind, noise):
    evidence = make_kind(13, kind)
    amount = _amount(evidence)
    noisy = amount + noise * np.std(amount) * np.random.default_rng(0).exponential(size=len(amount))
    assert "carries the noise" in _judge("label_noise", _with_column(evidence, noisy)).reason


@pytest.mark.parametrize("kind", ["label", "label_set", "ranked_labels"])
def test_a_column_that_beats_bayes_is_found_without_a_residual(make_kind, kind):
    evidence = make_kind(13, kind)
    amount = _amount(evidence)
    noisy = amount + 0.5 * np.std(amount) * np.random.default_rng(0).exponential(size=len(amount))
    assert "the Bayes score is beaten" in _judge("label_noise", _with_column(evidence, noisy)).reason


@pytest.mark.parametrize("kind", NO_RESIDUAL)
def test_the_expectation_of_the_rule_gives_every_kind_a_residual(make_kind, expectation_of, kind):
    evidence = make_kind(13, kind)
    known = replace(evidence, expectation=expectation_of(13, kind))
    assert _judge("label_noise", known).passed
    amount = _amount(evidence)
    noisy = amount + 2 * np.std(amount) * np.random.default_rng(0).exponential(size=len(amount))
    assert "carries the noise" in _judge("label_noise", _with_column(known, noisy)).reason


def test_a_level_missing_in_train_is_found(make_kind):
    evidence = make_kind(14, "number")
    rng = np.random.default_rng(0)
    n, n_train = len(evidence.train) + len(evidence.test), len(evidence.train)
    site = rng.choice(list("abcdefghijkl"), n).astype(object)
    assert _judge("shift", _with_column(evidence, site)).passed
    dropped = np.where((site == "c") & (np.arange(n) < n_train), "a", site)
    assert "is missing on one side" in _judge("shift", _with_column(evidence, dropped)).reason


def test_slow_baselines_are_named_and_no_duration_is_kept(make_kind):
    evidence = make_kind(15, "number")
    assert _judge("run_time", evidence).reason == "run times were not measured"
    fine = replace(evidence, cpu_seconds={"dummy": 1.0, "linear": 89.0})
    assert _judge("run_time", fine).numbers == {"limit_seconds": 90, "measured": 2, "too_slow": 0}
    slow = _judge("run_time", replace(evidence, cpu_seconds={"dummy": 1.0, "linear": 91.0}))
    assert not slow.passed
    assert "linear need more than 90" in slow.reason
    assert 91.0 not in slow.numbers.values()


def test_paths_and_free_text_are_no_categories(make_kind):
    from sandmle.eval.acceptance._columns import read_columns

    pictures = make_kind(16, "number", files=True)
    texts = np.array([f"remark no {k} of this bed" for k in range(len(pictures.train) + len(pictures.test))])
    columns = read_columns(_with_column(pictures, texts, "remark"))
    assert list(columns.texts) == ["remark"]
    assert list(columns.codes) == []
    assert set(columns.numeric) == set(columns.derived) == {"pixel_depth", "pixel_flow", "pixel_load", "pixel_count"}


def test_duplicated_texts_are_found(make_kind):
    evidence = make_kind(17, "number")
    n, n_train = len(evidence.train) + len(evidence.test), len(evidence.train)
    texts = np.array([f"remark no {k} of this bed" for k in range(n)], dtype=object)
    assert _judge("duplicates", _with_column(evidence, texts)).passed
    texts[n_train + 50 : n_train + 90] = texts[:40]
    assert "texts of train stand in test again" in _judge("duplicates", _with_column(evidence, texts)).reason


@pytest.mark.parametrize("kind", ["number", "label", "mask"])
def test_rows_that_show_nothing_but_a_path_can_be_judged(make_kind, expectation_of, kind):
    evidence = make_kind(16, kind, files=True)
    known = expectation_of(16, kind) if kind in NO_RESIDUAL else None
    bare = replace(evidence, features=None, expectation=known)
    calibration = calibrate(bare)
    for name in probe_names():
        judge(name, bare, calibration)
    assert _judge("label_noise", bare).passed
