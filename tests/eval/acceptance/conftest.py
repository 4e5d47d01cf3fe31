from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sandmle.eval.acceptance import Evidence
from sandmle.eval.metrics import get_metric
from sandmle.task import SubmissionFormat

N_TRAIN, N_TEST, REDRAWS = 200, 1000, 3


def _frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "depth": rng.normal(10, 2, n),
            "flow": rng.gamma(2.0, 1.5, n),
            "load": rng.normal(0, 1, n),
            "count": rng.poisson(4, n),
            "zone": rng.choice(["north", "south", "east"], n).astype(object),
        }
    )


def _terms(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    z = (frame[["depth", "load", "flow"]].to_numpy() - [10, 0, 3]) / [2, 1, 2.1]
    plain = np.column_stack([z[:, 0], z[:, 2], (frame["zone"] == "north").to_numpy(float)])
    return plain, np.column_stack([plain, z[:, 0] * z[:, 1]])


def _signal(frame: pd.DataFrame) -> np.ndarray:
    return _terms(frame)[1] @ np.array([1.0, 0.5, 0.6, 1.5])


def build(seed: int, kind: str = "binary", n_train: int = N_TRAIN, n_test: int = N_TEST, redraws: int = REDRAWS):
    """A clean task with a linear part and one hidden interaction, and a ladder of real fits."""
    rng = np.random.default_rng(seed)
    test = _frame(rng, n_test)
    frames = [_frame(rng, n_train) for _ in range(redraws)]
    signal = _signal(test)
    link = (lambda s: 1 / (1 + np.exp(-s))) if kind == "binary" else (lambda s: s)

    def label(s):
        return (rng.random(len(s)) < link(s)).astype(float) if kind == "binary" else s + rng.normal(0, 1, len(s))

    truth, labels = label(signal), [label(_signal(frame)) for frame in frames]
    predictions: dict[str, list[np.ndarray]] = {"dummy": [], "linear": [], "informed": []}
    for frame, y in zip(frames, labels, strict=True):
        predictions["dummy"].append(np.full(n_test, y.mean()))
        for name, column in (("linear", 0), ("informed", 1)):
            model = (LogisticRegression() if kind == "binary" else Ridge()).fit(_terms(frame)[column], y)
            x = _terms(test)[column]
            predictions[name].append(model.predict_proba(x)[:, 1] if kind == "binary" else model.predict(x))
    metric = get_metric("roc_auc" if kind == "binary" else "rmse")
    ids = rng.permutation(10_000)[: n_train + n_test]
    submission = SubmissionFormat(
        id_column="row_id",
        prediction_columns=("yield",),
        kind=metric.prediction,
        classes=("no", "yes") if kind == "binary" else (),
    )
    shown = np.where(labels[0] == 1, "yes", "no").astype(object) if kind == "binary" else labels[0]
    train = frames[0].assign(**{"yield": shown})
    train.insert(0, "row_id", ids[:n_train])
    test.insert(0, "row_id", ids[n_train:])
    return Evidence(
        metric=metric,
        submission=submission,
        train=train,
        test=test,
        sample=pd.DataFrame({"row_id": test["row_id"], "yield": 0.5}),
        truth=truth,
        private=rng.permutation(n_test) < 0.7 * n_test,
        predictions={name: tuple(runs) for name, runs in predictions.items()},
        bayes=link(signal),
        search=tuple(predictions["informed"]),
        target="yield",
        seed=seed,
    )


@pytest.fixture(scope="session")
def make_evidence() -> Callable[..., Evidence]:
    return build


@pytest.fixture(scope="session")
def binary() -> Evidence:
    return build(1)


@pytest.fixture(scope="session")
def regression() -> Evidence:
    return build(2, "regression")
