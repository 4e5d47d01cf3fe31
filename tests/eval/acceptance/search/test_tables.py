from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from sandmle.eval.acceptance import MAX_IDEAS, search_script
from sandmle.eval.acceptance.search import finals, greedy
from sandmle.eval.acceptance.search._bundle import MODULES
from sandmle.eval.acceptance.search.main import main

OWN = {"__future__", "sandmle"}
SIGNS = {"u": 1.0, "v": -1.0, "w": 1.0, "x": -1.0}
RULES = {
    "interaction": lambda d: 1.3 * d.d * d.e,
    "periodic": lambda d: 1.7 * np.sin(2 * np.pi * d.f / 1.7 + 1),
    "threshold": lambda d: 2.5 * (d.d.abs() < 0.6),
    "slope by level": lambda d: 1.3 * d.d * d.zone.map(SIGNS),
    "season": lambda d: 1.5 * np.cos(2 * np.pi * (pd.to_datetime(d.day).dt.month - 4) / 12),
    "ratio": lambda d: 2 * np.abs(np.log(d.p / d.q)),
}


def _frame(rng, n):
    frame = pd.DataFrame(rng.normal(size=(n, 8)), columns=list("abcdefgh"))
    frame["p"], frame["q"] = np.exp(0.5 * rng.normal(size=n)), np.exp(0.5 * rng.normal(size=n))
    frame["zone"] = rng.choice(list("uvwx"), n)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    return frame.assign(day=days.strftime("%Y-%m-%d"))


def _folder(folder, hidden, kind, seed=0):
    """Write a task; returns truth and the noise-free signal of its test rows."""
    rng = np.random.default_rng([seed, 5])
    frames = {"train": _frame(rng, 200), "test": _frame(rng, 1000)}
    center = hidden(frames["test"]).mean()
    signal = {k: (d.g + 0.5 * d.h + 0.5 * (d.zone == "u") + hidden(d) - center).to_numpy() for k, d in frames.items()}
    number = kind == "number"
    labels = {
        k: s + rng.normal(0, 0.7, len(s)) if number else (rng.random(len(s)) < 1 / (1 + np.exp(-2 * s))).astype(int)
        for k, s in signal.items()
    }
    (folder / "input").mkdir()
    shown = labels["train"] if number else np.array(["no", "yes"])[labels["train"]]
    frames["train"].loc[::17, "c"] = np.nan
    frames["train"].assign(key=range(200), y=shown).to_csv(folder / "input" / "train.csv", index=False)
    frames["test"].assign(key=range(1000)).to_csv(folder / "input" / "test.csv", index=False)
    return labels["test"], signal["test"]


def _arguments(kind, metric="roc_auc", classes=("no", "yes"), ideas=MAX_IDEAS):
    facts = {"target": "y", "id_column": "key", "kind": kind, "classes": classes, "metric": metric}
    return ["search.py", json.dumps(facts), str(ideas)]


@pytest.fixture
def search(tmp_path, monkeypatch):
    """Runs the script in a folder that holds a task; returns the submission."""

    def run(kind, **arguments):
        monkeypatch.chdir(tmp_path)
        main(_arguments(kind, **arguments)[1:])
        return pd.read_csv(tmp_path / "submission.csv")

    return run


class _StandIn(finals.Linear):
    """The linear model in the place of another."""

    def __init__(self, *args):
        super().__init__(*(args if len(args) > 1 else (8.0, args[0])))


@pytest.fixture
def linear_only(monkeypatch):
    """Leave blend and trees out of the final choice: they cost most of the time and find no rule."""
    for name in ("Blend", "Boosted"):
        monkeypatch.setattr(finals, name, _StandIn)


@pytest.mark.usefixtures("linear_only")
@pytest.mark.parametrize("rule", RULES)
def test_a_planted_term_is_found_in_numbers(tmp_path, search, rule):
    truth, _ = _folder(tmp_path, RULES[rule], "number")
    error = {
        ideas: np.sqrt(np.mean((search("number", metric="rmse", classes=(), ideas=ideas)["y"] - truth) ** 2))
        for ideas in (0, MAX_IDEAS)
    }
    assert (error[0] - error[MAX_IDEAS]) / (error[0] - 0.7) > 0.3


@pytest.mark.usefixtures("linear_only")
@pytest.mark.parametrize("rule", ["interaction", "periodic", "slope by level"])
def test_a_planted_term_is_found_in_classes(tmp_path, search, rule):
    truth, signal = _folder(tmp_path, RULES[rule], "probability", seed=1)
    score = {ideas: roc_auc_score(truth, search("probability", ideas=ideas)["y"]) for ideas in (0, MAX_IDEAS)}
    assert (score[MAX_IDEAS] - score[0]) / (roc_auc_score(truth, signal) - score[0]) > 0.3


@pytest.mark.usefixtures("linear_only")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nothing_is_spoilt_where_there_is_nothing_to_find(tmp_path, search, seed):
    truth, _ = _folder(tmp_path, lambda d: 0 * d.a, "probability", seed)
    score = {ideas: roc_auc_score(truth, search("probability", ideas=ideas)["y"]) for ideas in (0, MAX_IDEAS)}
    assert score[MAX_IDEAS] > score[0] - 0.01


@pytest.mark.usefixtures("linear_only")
def test_no_more_ideas_are_cross_validated_than_allowed(tmp_path, search, monkeypatch):
    _folder(tmp_path, RULES["interaction"], "number")
    tested = set()
    whole = greedy.Search.gain
    monkeypatch.setattr(
        greedy.Search, "gain", lambda self, stage, index: tested.add(index) or whole(self, stage, index)
    )
    search("number", metric="rmse", classes=(), ideas=7)
    assert 0 < len(tested) <= 7


def test_each_budget_gives_what_it_gives_alone(tmp_path, search):
    _folder(tmp_path, RULES["interaction"], "number")
    search("number", metric="rmse", classes=(), ideas="1,4,16")
    together = {k: (tmp_path / f"submission-{k}.csv").read_bytes() for k in (1, 4, 16)}
    assert (tmp_path / "submission.csv").read_bytes() == together[16]
    for k, found in together.items():
        search("number", metric="rmse", classes=(), ideas=k)
        assert (tmp_path / f"submission-{k}.csv").read_bytes() == found


@pytest.mark.parametrize(("kind", "metric"), [("label", "macro_f1"), ("class_probabilities", "multiclass_log_loss")])
def test_every_form_of_submission(tmp_path, search, kind, metric):
    truth, _ = _folder(tmp_path, RULES["interaction"], "probability")
    found = search(kind, metric=metric)
    if kind == "label":
        assert set(found["y"]) == {"no", "yes"}
        assert np.mean((found["y"] == "yes") == truth) > 0.65
    else:
        assert list(found) == ["key", "no", "yes"]
        assert np.allclose(found[["no", "yes"]].sum(axis=1), 1)


@pytest.mark.usefixtures("linear_only")
def test_three_classes_given_as_numbers(tmp_path, search):
    truth, _ = _folder(tmp_path, RULES["interaction"], "number")
    train = pd.read_csv(tmp_path / "input" / "train.csv")
    train["y"] = np.digitize(train["y"], [-0.7, 0.7])
    train.to_csv(tmp_path / "input" / "train.csv", index=False)
    found = search("label", metric="accuracy", classes=("0", "1", "2"))
    assert np.mean(found["y"] == np.digitize(truth, [-0.7, 0.7])) > 0.5


def test_a_skewed_positive_target_stays_positive(tmp_path, search):
    truth, _ = _folder(tmp_path, RULES["interaction"], "number")
    train = pd.read_csv(tmp_path / "input" / "train.csv")
    train.assign(y=np.exp(train["y"])).to_csv(tmp_path / "input" / "train.csv", index=False)
    found = search("number", metric="rmsle", classes=())["y"]
    assert found.min() > 0
    assert np.corrcoef(np.log(found), truth)[0, 1] > 0.8


def _source(name):
    return (files("sandmle.eval.acceptance.search") / f"{name}.py").read_text()


def test_the_script_stands_alone_and_repeats(tmp_path, search):
    imported = {name for module in MODULES for name in re.findall(r"^ *(?:from|import) (\w+)", _source(module), re.M)}
    assert {"numpy", "sklearn"} <= imported
    assert imported <= sys.stdlib_module_names | {"numpy", "pandas", "scipy", "sklearn", "threadpoolctl", "PIL"} | OWN
    _folder(tmp_path, RULES["interaction"], "probability")
    (tmp_path / "search.py").write_text(search_script())
    command = [sys.executable, *_arguments("probability")]
    subprocess.run(command, cwd=tmp_path, check=True, env={"OMP_NUM_THREADS": "1"})
    alone = (tmp_path / "submission.csv").read_bytes()
    search("probability")
    assert (tmp_path / "submission.csv").read_bytes() == alone
