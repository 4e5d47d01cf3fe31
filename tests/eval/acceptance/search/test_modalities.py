from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from sandmle.eval.acceptance import search_script
from sandmle.eval.acceptance.search.masks import decode, encode

NAMES = (
    "image", "mask", "multimodal", "audio", "text", "pair", "series", "node", "link", "seq2seq", "label_set",
    "label_probabilities", "ranked_labels", "ordinal", "ranking", "quantile",
)  # fmt: skip
SLOW = ("multimodal", "audio", "pair", "series")


def _quality(facts, answers, found):
    """How good a submission is: about 0 or below for a constant one, at most 1."""
    truth, first = answers["y"].to_numpy(), found.columns[1]
    kind = facts["kind"]
    if kind == "probability":
        return 2 * roc_auc_score(truth == "yes", found[first]) - 1
    if kind == "class_probabilities":
        best = np.array(facts["classes"])[found.iloc[:, 1:].to_numpy().argmax(axis=1)]
        return cohen_kappa_score(truth, best)
    if kind == "label":
        return cohen_kappa_score(truth.astype(str), found[first].astype(str), weights=None)
    if kind == "label_probabilities":
        return np.mean([2 * roc_auc_score([c in t.split() for t in truth], found[c]) - 1 for c in facts["classes"]])
    if kind == "label_set":
        return 2 * np.mean([set(a.split()) == set(b.split()) for a, b in zip(truth, found[first], strict=True)])
    if kind == "ranked_labels":
        return 2 * np.mean([b.split()[0] == a for a, b in zip(truth, found[first], strict=True)]) - 0.6
    if kind == "mask":
        pairs = [(decode(a, (16, 16)), decode(b, (16, 16))) for a, b in zip(truth, found[first], strict=True)]
        return np.mean([2 * (a * b).sum() / max(a.sum() + b.sum(), 1) for a, b in pairs])
    if kind == "text":
        return np.mean(truth == found[first].to_numpy())
    return np.corrcoef(truth.astype(float), found[first].astype(float))[0, 1]


def _assert_valid(facts, answers, found):
    """The right rows, columns and cells, checked by hand."""
    assert list(found["key"]) == list(answers["key"])
    columns = facts.get("prediction_columns", ["y"])
    assert list(found)[1:] == columns
    cells, classes = found[columns[0]], set(facts.get("classes", ()))
    if facts["kind"] in ("label_set", "ranked_labels"):
        for cell in cells:
            labels = cell.split()
            assert cell == "none" or set(labels) <= classes
            assert len(set(labels)) == len(labels) <= facts.get("top", 9)
    elif facts["kind"] == "label":
        assert set(cells.astype(str)) <= classes
    elif facts["kind"] == "mask":
        assert all(encode(decode(cell, (16, 16)) > 0) == cell for cell in cells)
    elif facts["kind"] == "text":
        assert all(cell.strip() == cell != "" for cell in cells)
    else:
        assert np.isfinite(found[columns].to_numpy(np.float64)).all()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in NAMES]
)
def test_the_planted_signal_is_found(name, public, run):
    folder, facts, answers = public(name)
    found = run(folder, facts, "1,16")
    _assert_valid(facts, answers, found)
    quality = _quality(facts, answers, found)
    assert quality > 0.45, quality
    alone = (folder / "submission-1.csv").read_bytes()
    assert (folder / "submission-16.csv").read_bytes() == (folder / "submission.csv").read_bytes()
    run(folder, facts, "1")
    assert (folder / "submission-1.csv").read_bytes() == alone


@pytest.mark.parametrize(
    "style", ["best", *(pytest.param(style, marks=pytest.mark.slow) for style in ("dummy", "linear", "gbdt"))]
)
@pytest.mark.parametrize("name", NAMES)
def test_every_policy_without_ideas_is_valid(name, style, public, run):
    folder, facts, answers = public(name)
    found = run(folder, facts | {"style": style}, "0")
    _assert_valid(facts, answers, found)
    if style == "dummy" and facts["kind"] != "relevance":
        assert found.drop(columns="key").drop_duplicates().shape[0] == 1


@pytest.mark.parametrize("name", ["image", "audio", "text", "series", "node"])
def test_features_are_written(name, public, run):
    folder, facts, answers = public(name)
    run(folder, facts | {"style": "linear"}, "0")
    features = pd.read_csv(folder / "features-test.csv", dtype={"key": str})
    assert list(features["key"]) == list(answers["key"])
    assert 10 < features.shape[1] < 450
    assert features.drop(columns="key").dtypes.map(pd.api.types.is_numeric_dtype).all()
    assert list(pd.read_csv(folder / "features-train.csv", nrows=1)) == list(features)


@pytest.mark.parametrize("name", [pytest.param("image", marks=pytest.mark.slow), "seq2seq"])
def test_the_script_alone_gives_the_same_bytes(name, public, run):
    folder, facts, _ = public(name)
    run(folder, facts, "4")
    here = (folder / "submission.csv").read_bytes()
    (folder / "search.py").write_text(search_script())
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "search.py", json.dumps(facts), "4"], cwd=folder, check=True, env=environment)
    assert (folder / "submission.csv").read_bytes() == here
