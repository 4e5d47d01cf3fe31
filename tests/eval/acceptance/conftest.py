from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
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


KINDS = {
    "label": "accuracy",
    "probability": "roc_auc",
    "class_probabilities": "multiclass_log_loss",
    "label_probabilities": "mean_column_log_loss",
    "label_set": "jaccard",
    "ranked_labels": "map_at_3",
    "relevance": "ndcg_at_5",
    "number": "mae",
    "text": "exact_match",
    "mask": "dice",
}
N_CLASSES = {"probability": 2, "ranked_labels": 5, "relevance": 0, "number": 0, "text": 0, "mask": 0}
GROUP, SIDE = 10, 8


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def _shares(signal: np.ndarray, k: int) -> np.ndarray:
    weights = np.exp(signal[:, None] * np.linspace(-2, 2, k) + np.cos(np.arange(k)))
    return weights / weights.sum(axis=1, keepdims=True)


def _label_shares(signal: np.ndarray, k: int) -> np.ndarray:
    return _sigmoid(1.5 * signal[:, None] * np.linspace(-1.5, 2, k) - np.linspace(0.5, 1, k))


def _pixel_shares(signal: np.ndarray) -> np.ndarray:
    place = np.linspace(-2, 2, SIDE)
    bump = 3 - 3 * np.abs(place[:, None] + place[None] / 2 - np.clip(signal, -2, 2)[:, None, None])
    return _sigmoid(bump.reshape(len(signal), -1))


def _texts(levels: np.ndarray) -> np.ndarray:
    words = ("nought", "ten", "a score of")
    return np.array([f"{words[int(level)]} pounds" for level in levels])


def _act(kind: str, signal: np.ndarray) -> np.ndarray:
    """The Bayes-optimal prediction given a signal."""
    if kind in ("label", "class_probabilities", "ranked_labels"):
        shares = _shares(signal, N_CLASSES.get(kind, 3))
        ranked = np.argsort(-shares, axis=1)[:, :3].astype(float)
        return {"label": shares.argmax(axis=1).astype(float), "ranked_labels": ranked}.get(kind, shares)
    if kind in ("label_probabilities", "label_set"):
        shares = _label_shares(signal, 3)
        return shares if kind == "label_probabilities" else (shares > 0.5).astype(float)
    if kind == "mask":
        return (_pixel_shares(signal) > 0.5).astype(float)
    if kind == "text":
        return _texts(np.digitize(signal, [-0.8, 0.8]))
    return _sigmoid(signal) if kind == "probability" else signal


def _prior(kind: str, signal: np.ndarray) -> np.ndarray:
    if kind.endswith("probabilities") or kind in ("probability", "number"):
        return np.full_like(_act(kind, signal), 0.0) + _act(kind, signal).mean(axis=0)
    if kind == "ranked_labels":
        return np.tile(np.argsort(-_shares(signal, 5).mean(axis=0))[:3].astype(float), (len(signal), 1))
    if kind == "label_set":
        return np.tile((_label_shares(signal, 3).mean(axis=0) > 0.3).astype(float), (len(signal), 1))
    return _act(kind, np.zeros(len(signal)))


def _hedge(kind: str, prediction: np.ndarray, prior: np.ndarray) -> np.ndarray:
    return (prediction + prior) / 2 if kind.endswith("probabilities") else prediction


def _draw_labels(kind: str, signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(signal)
    if kind in ("label", "class_probabilities", "ranked_labels"):
        return (
            (rng.random(n)[:, None] > _shares(signal, N_CLASSES.get(kind, 3)).cumsum(axis=1)).sum(axis=1).astype(float)
        )
    if kind in ("label_probabilities", "label_set"):
        return (rng.random((n, 3)) < _label_shares(signal, 3)).astype(float)
    if kind == "mask":
        return (rng.random((n, SIDE * SIDE)) < _pixel_shares(signal)).astype(float)
    if kind == "probability":
        return (rng.random(n) < _sigmoid(signal)).astype(float)
    noisy = signal + rng.normal(0, 0.7, n)
    if kind == "text":
        return _texts(np.digitize(noisy, [-0.8, 0.8]))
    if kind == "relevance":
        return np.column_stack([np.digitize(noisy, [-1, 0.5, 1.5]), np.arange(n) // GROUP]).astype(float)
    return noisy


def cells_of(kind: str, labels: np.ndarray, classes: tuple[str, ...]) -> list:
    """Labels as train.csv writes them."""
    if kind in ("label_probabilities", "label_set"):
        return [" ".join(c for c, on in zip(classes, row, strict=True) if on) or "none" for row in labels]
    if kind == "mask":
        return [" ".join(f"{k + 1} 1" for k in np.flatnonzero(row)) or "none" for row in labels]
    if kind == "relevance":
        return list(labels[:, 0])
    return [classes[int(k)] for k in labels] if classes else list(labels)


def _signals(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    plain, full = (table @ np.array([1.15, 0.5, 0.6, 1.15])[: table.shape[1]] for table in _terms(frame))
    return 1.5 * (full - full.mean()) / full.std(), 1.5 * (plain - plain.mean()) / full.std()


def expected_labels(seed: int, kind: str, n_train: int = 200, n_test: int = 1000) -> np.ndarray:
    """What the rule of ``build_kind`` expects of the hidden labels."""
    signal = _signals(_frame(np.random.default_rng([seed, 7]), n_train + n_test))[0][n_train:]
    if kind == "relevance":
        limits = (np.array([-1, 0.5, 1.5]) - signal[:, None]) / 0.7
        return (1 - norm.cdf(limits)).sum(axis=1)
    if kind == "mask":
        return _pixel_shares(signal).sum(axis=1)
    return _label_shares(signal, 3) if kind == "label_set" else _shares(signal, N_CLASSES.get(kind, 3))


def build_kind(seed: int, kind: str, n_train: int = 200, n_test: int = 1000, files: bool = False) -> Evidence:
    """A clean task of any kind of prediction; rungs are Bayes acts on blurred signals."""
    rng = np.random.default_rng([seed, 7])
    k = N_CLASSES.get(kind, 3)
    classes = tuple("abcdefg"[:k])
    n = n_train + n_test
    frame = _frame(rng, n)
    signal, blurred = _signals(frame)
    labels = _draw_labels(kind, signal, rng)
    test = slice(n_train, n)

    def runs(values: np.ndarray, noise: float) -> tuple[np.ndarray, ...]:
        return tuple(_act(kind, values + rng.normal(0, noise, n))[test] for _ in range(REDRAWS))

    frame.insert(0, "row_id", rng.permutation(100_000)[:n])
    if kind == "relevance":
        frame["query"] = [f"q{g}" for g in np.arange(n) // GROUP]
        labels[n_train:, 1] -= n_train // GROUP
    frame["reach"] = cells_of(kind, labels, classes)
    columns = tuple(classes) if kind in ("class_probabilities", "label_probabilities") else ("reach",)
    metric = get_metric(KINDS[kind])
    sample = pd.DataFrame({"row_id": frame["row_id"][test]})
    for column in columns:
        sample[column] = {
            "text": "none",
            "label": "a",
            "ranked_labels": "a b",
            "label_set": "none",
            "mask": "none",
        }.get(kind, 0.5)
    shown = frame.drop(columns="reach")
    if files:
        names = [f"{rng.integers(16**10):010x}" for _ in range(n)]
        folder = ["train_images"] * n_train + ["test_images"] * n_test
        shown = shown[["row_id"]].assign(image=[f"{f}/{x}.png" for f, x in zip(folder, names, strict=True)])
        shown = shown.assign(query=frame["query"]) if kind == "relevance" else shown
    features = frame[["depth", "flow", "load", "count"]].add_prefix("pixel_")
    size = 900 + 40 * (features["pixel_depth"] - 10) + rng.normal(0, 30, n)
    listing = pd.DataFrame(
        {
            "split": np.where(np.arange(n) < n_train, "train", "test"),
            "row": np.r_[np.arange(n_train), np.arange(n_test)],
            "column": "image",
            "path": shown["image"] if files else "",
            "bytes": size.astype(int),
            "mtime_ns": 10**18,
            "metadata": "",
            "digest": [f"{k:032x}" for k in range(n)],
        }
    )
    tables = [table.reset_index(drop=True) for table in (features[:n_train], features[n_train:])]
    return Evidence(
        metric=metric,
        submission=SubmissionFormat(
            id_column="row_id",
            prediction_columns=columns,
            kind=kind,
            classes=classes,
            group_column="query" if kind == "relevance" else None,
            top=3 if kind == "ranked_labels" else None,
            mask_shape=(SIDE, SIDE) if kind == "mask" else None,
        ),
        train=shown[:n_train].assign(reach=frame["reach"][:n_train]).reset_index(drop=True),
        test=shown[n_train:].reset_index(drop=True),
        sample=sample.reset_index(drop=True),
        truth=labels[n_train:],
        private=np.repeat(rng.permutation(n_test // GROUP) < 0.7 * (n_test // GROUP), GROUP),
        predictions={
            "dummy": (_prior(kind, signal)[test],) * REDRAWS,
            "linear": tuple(_hedge(kind, run, _prior(kind, signal)[test]) for run in runs(blurred, 0.1)),
            "informed": runs(signal, 0.1),
        },
        bayes=_act(kind, signal)[test],
        search=(),
        target="reach",
        seed=seed,
        features=(tables[0], tables[1]) if files else None,
        files=listing if files else None,
    )


@pytest.fixture(scope="session")
def expectation_of() -> Callable[..., np.ndarray]:
    return expected_labels


@pytest.fixture(scope="session")
def make_kind() -> Callable[..., Evidence]:
    return build_kind


@pytest.fixture(scope="session")
def make_evidence() -> Callable[..., Evidence]:
    return build


@pytest.fixture(scope="session")
def binary() -> Evidence:
    return build(1)


@pytest.fixture(scope="session")
def regression() -> Evidence:
    return build(2, "regression")
