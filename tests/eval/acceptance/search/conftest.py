"""Small public folders of every modality, each with a simple signal of its own that was invented for these tests."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

N_TRAIN, N_TEST = 80, 60
N = N_TRAIN + N_TEST
SIZE, RATE = 16, 4000
WORDS = [
    "river",
    "stone",
    "market",
    "lamp",
    "garden",
    "winter",
    "signal",
    "copper",
    "bridge",
    "paper",
    "window",
    "music",
]
CLASSES = {"classes": ["no", "yes"]}


def _yes(signal):
    return np.where(signal > np.median(signal), "yes", "no")


def _parts():
    return ["train" if i < N_TRAIN else "test" for i in range(N)]


def _runs(mask):
    edges = np.flatnonzero(np.diff(np.r_[0, mask.ravel().astype(int), 0]))
    return " ".join(f"{a + 1} {b - a}" for a, b in zip(edges[::2], edges[1::2], strict=True)) or "none"


def _pictures(folder: Path, rng):
    """Pictures with a square that is larger in half of them; its side and its mask."""
    paths, sides, masks = [], rng.integers(3, 9, N), []
    for index, part in enumerate(_parts()):
        path = Path(f"{part}_images/{rng.integers(1 << 40):010x}.png")
        mask = np.zeros((SIZE, SIZE), dtype=bool)
        y, x = rng.integers(0, SIZE - sides[index], 2)
        mask[y : y + sides[index], x : x + sides[index]] = True
        pixels = 80 + 90 * mask[..., None] + rng.normal(0, 12, (SIZE, SIZE, 3))
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / path)
        paths.append(str(path))
        masks.append(_runs(mask))
    return paths, sides + rng.normal(0, 0.3, N), masks


def image(folder: Path, rng):
    paths, sides, _ = _pictures(folder, rng)
    return pd.DataFrame({"photo": paths}), _yes(sides), {"kind": "probability", "metric": "roc_auc", **CLASSES}


def mask(folder: Path, rng):
    paths, _, masks = _pictures(folder, rng)
    return pd.DataFrame({"photo": paths}), masks, {"kind": "mask", "metric": "dice", "mask_shape": [SIZE, SIZE]}


def multimodal(folder: Path, rng):
    paths, sides, _ = _pictures(folder, rng)
    frame = pd.DataFrame({"age": rng.normal(size=N).round(3), "photo": paths})
    return frame, _yes(sides / 2 + 1.5 * frame["age"]), {"kind": "label", "metric": "macro_f1", **CLASSES}


def audio(folder: Path, rng):
    paths, pitch = [], rng.uniform(150, 600, N)
    for index, part in enumerate(_parts()):
        path = Path(f"{part}_audio/{rng.integers(1 << 40):010x}.wav")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        sound = 0.3 * np.sin(2 * np.pi * pitch[index] * np.arange(RATE // 4) / RATE) + rng.normal(0, 0.05, RATE // 4)
        with wave.open(str(folder / path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes((np.clip(sound, -1, 1) * 32_000).astype("<i2").tobytes())
        paths.append(str(path))
    facts = {"kind": "class_probabilities", "metric": "multiclass_log_loss", "classes": ["low", "mid", "high"]}
    labels = np.array(["low", "mid", "high"])[np.digitize(pitch, [300, 450])]
    return pd.DataFrame({"clip": paths}), labels, {**facts, "prediction_columns": ["p_low", "p_mid", "p_high"]}


def text(folder: Path, rng):
    words = [list(rng.choice(WORDS, rng.integers(8, 16))) for _ in range(N)]
    tons = rng.integers(5, 95, N)
    notes = [" ".join([*row[:3], f"weighs {n} kg", *row[3:]]) for row, n in zip(words, tons, strict=True)]
    return pd.DataFrame({"note": notes}), tons / 10.0, {"kind": "number", "metric": "mae"}


def pair(folder: Path, rng):
    first = [list(rng.choice(WORDS, 9, replace=False)) for _ in range(N)]
    kept = rng.integers(1, 9, N)
    second = [[*row[:k], *rng.permutation(WORDS)[: 9 - k]] for row, k in zip(first, kept, strict=True)]
    frame = pd.DataFrame({"one": [" ".join(r) for r in first], "two": [" ".join(r) for r in second]})
    return frame, kept + rng.normal(0, 0.2, N), {"kind": "number", "metric": "spearman"}


def series(folder: Path, rng):
    steps = 30
    periods = rng.uniform(4, 14, N)
    values = np.sin(2 * np.pi * np.arange(steps) / periods[:, None]) + rng.normal(0, 0.2, (N, steps))
    ids = np.array([f"k{i:04}" for i in range(N)])
    for part, rows in (("train", slice(None, N_TRAIN)), ("test", slice(N_TRAIN, None))):
        count = len(ids[rows])
        table = {"key": np.repeat(ids[rows], steps), "step": np.tile(np.arange(steps), count)}
        folder.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table | {"flow": values[rows].ravel()}).to_csv(folder / f"{part}_series.csv", index=False)
    return (
        pd.DataFrame({"site": rng.choice(list("pq"), N)}),
        _yes(periods),
        {"kind": "label", "metric": "mcc", **CLASSES},
    )


def _graph(folder: Path, rng):
    """A graph of two halves that are linked within; names and halves of the nodes."""
    names, half = np.array([f"v{i}" for i in rng.permutation(2 * N)]), rng.integers(0, 2, 2 * N)
    ends = rng.integers(0, 2 * N, (9 * N, 2))
    ends = ends[(half[ends[:, 0]] == half[ends[:, 1]]) & (ends[:, 0] != ends[:, 1])]
    folder.mkdir(parents=True, exist_ok=True)
    ages = pd.DataFrame({"node": names, "age": (half + rng.normal(size=2 * N)).round(3)})
    ages.to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame({"from": names[ends[:, 0]], "to": names[ends[:, 1]]}).to_csv(folder / "edges.csv", index=False)
    return names, half


def node(folder: Path, rng):
    names, half = _graph(folder, rng)
    return (
        pd.DataFrame({"key": names[:N]}),
        _yes(half[:N] - 0.1),
        {"kind": "probability", "metric": "log_loss", **CLASSES},
    )


def link(folder: Path, rng):
    names, half = _graph(folder, rng)
    u, v = rng.integers(0, 2 * N, (2, N))
    frame = pd.DataFrame({"left": names[u], "right": names[v]})
    return frame, np.where(half[u] == half[v], "yes", "no"), {"kind": "label", "metric": "accuracy", **CLASSES}


def seq2seq(folder: Path, rng):
    counts, months, days = rng.integers(2, 60, N), rng.integers(1, 13, N), rng.integers(1, 29, N)
    words = rng.choice(WORDS, (N, 2))
    rows = list(zip(words[:, 0], words[:, 1], counts, days, months, strict=True))
    before = [f"{a} {b} on {d:02}/{m:02}/2019 for {n} kg" for a, b, n, d, m in rows]
    after = [f"{a} {b} on 2019-{m:02}-{d:02} for {n} kilograms" for a, b, n, d, m in rows]
    return pd.DataFrame({"before": before}), after, {"kind": "text", "metric": "exact_match"}


def _table(rng):
    frame = pd.DataFrame(rng.normal(size=(N, 4)).round(4), columns=list("abcd"))
    return frame.assign(zone=rng.choice(list("uvw"), N)), frame["a"] + 0.5 * frame["b"]


def _sets(rng):
    frame, signal = _table(rng)
    rows = zip(signal > 0.5, frame["c"] > 0, frame["d"] > 0.5, strict=True)
    return frame, [" ".join(n for n, on in zip(("x", "y", "z"), row, strict=True) if on) or "none" for row in rows]


def label_set(folder: Path, rng):
    return *_sets(rng), {"kind": "label_set", "metric": "jaccard", "classes": ["x", "y", "z"]}


def label_probabilities(folder: Path, rng):
    facts = {"classes": ["x", "y", "z"], "prediction_columns": ["x", "y", "z"]}
    return *_sets(rng), {"kind": "label_probabilities", "metric": "mean_auc", **facts}


def ranked_labels(folder: Path, rng):
    frame, signal = _table(rng)
    labels = np.array(list("pqrst"))[np.digitize(signal, [-1, -0.3, 0.3, 1])]
    return frame, labels, {"kind": "ranked_labels", "metric": "map_at_3", "classes": list("pqrst"), "top": 3}


def ordinal(folder: Path, rng):
    frame, signal = _table(rng)
    facts = {"kind": "label", "metric": "quadratic_kappa", "problem_type": "ordinal", "classes": list("0123")}
    return frame, np.digitize(signal, [-0.8, 0, 0.8]), facts


def ranking(folder: Path, rng):
    frame, signal = _table(rng)
    frame["query"] = np.repeat(np.arange(N // 10), 10)
    relevance = np.clip(np.round(signal + 1 + np.repeat(rng.normal(size=N // 10), 10)), 0, 4).astype(int)
    return frame, relevance, {"kind": "relevance", "metric": "ndcg", "group_column": "query"}


def quantile(folder: Path, rng):
    frame, signal = _table(rng)
    return frame, signal + rng.normal(0, 0.5, N), {"kind": "number", "metric": "pinball_90"}


MAKERS = {make.__name__: make for make in (image, mask, multimodal, audio, text, pair, series, node, link, seq2seq,
          label_set, label_probabilities, ranked_labels, ordinal, ranking, quantile)}  # fmt: skip


@pytest.fixture(scope="session")
def public(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, dict, pd.DataFrame]]:
    """Makes a folder ``input`` once; gives the folder it is in, the facts, and the answers (id, y)."""
    made = {}

    def make(name: str):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            frame, target, facts = MAKERS[name](folder / "input", np.random.default_rng([7, len(name)]))
            (folder / "input").mkdir(exist_ok=True)
            if "key" not in frame:
                frame.insert(0, "key", [f"k{i:04}" for i in range(N)])
            table = frame.assign(y=target)
            table[:N_TRAIN].to_csv(folder / "input" / "train.csv", index=False)
            frame[N_TRAIN:].to_csv(folder / "input" / "test.csv", index=False)
            columns = facts.get("prediction_columns", ["y"])
            sample = table.loc[N_TRAIN:, ["key"]].assign(**dict.fromkeys(columns, 0.5))
            sample.to_csv(folder / "input" / "sample_submission.csv", index=False)
            made[name] = folder, {"id_column": "key", "target": "y", **facts}, table[N_TRAIN:][["key", "y"]]
        folder, facts, answers = made[name]
        return folder, dict(facts), answers

    return make


@pytest.fixture
def run(monkeypatch):
    """Runs the search in a folder; gives the submission."""
    from sandmle.eval.acceptance.search.main import main

    def call(folder: Path, facts: dict, budgets: str = "4") -> pd.DataFrame:
        monkeypatch.chdir(folder)
        main([json.dumps(facts), budgets])
        return pd.read_csv(folder / "submission.csv", keep_default_na=False, dtype={"key": str})

    return call
