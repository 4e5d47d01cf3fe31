"""The leaks that ``leak_audit.py`` plants: in tables, identifiers, the order of rows, and public files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from sandmle.eval.acceptance import Evidence, describe_files
from sandmle.files import PUBLIC_TIME

__all__ = ["FILE_LEAKS", "TABLE_LEAKS", "with_files"]

Leak = Callable[[Evidence, np.random.Generator], Evidence]


def amounts(evidence: Evidence) -> NDArray[np.float64]:
    """One number per label of train, then test: larger for more of it."""
    train = cells_of_train(evidence)
    if evidence.kind == "text":
        lengths = [len(str(cell)) for cell in [*train, *evidence.truth]]
        return np.array(lengths, dtype=np.float64)
    if evidence.submission.classes:
        index = {label: k for k, label in enumerate(evidence.submission.classes)}
        known = [float(sum(index[name] + 1 for name in str(cell).split() if name in index)) for cell in train]
        if evidence.truth.ndim == 2:
            hidden = evidence.truth @ (np.arange(evidence.truth.shape[1]) + 1.0)
        else:
            known = [
                float(index[cell] + 1) if cell in index else value for cell, value in zip(train, known, strict=True)
            ]
            hidden = evidence.truth + 1.0
        return np.concatenate([known, hidden])
    if evidence.kind == "mask":
        known = [float(sum(int(part) for part in str(cell).split()[1::2])) if cell != "none" else 0.0 for cell in train]
        return np.concatenate([known, evidence.truth.sum(axis=1)])
    hidden = evidence.truth[:, 0] if evidence.truth.ndim == 2 else evidence.truth
    return np.concatenate([train.to_numpy(np.float64), hidden])


def cells_of_train(evidence: Evidence) -> pd.Series:
    """The target column as it stands in train.csv."""
    return evidence.train[evidence.target].where(evidence.train[evidence.target].notna(), "none")


def with_column(evidence: Evidence, values: Any, name: str = "extra") -> Evidence:
    """The task with one more column, or another one, given for train and then test."""
    values, n = np.asarray(values), len(evidence.train)
    tables = {"train": evidence.train.assign(**{name: values[:n]}), "test": evidence.test.assign(**{name: values[n:]})}
    if name == evidence.submission.id_column:
        tables["sample"] = evidence.sample.assign(**{name: values[n:]})
    return replace(evidence, **tables)


def with_rows(evidence: Evidence, train: NDArray[np.int64], test: NDArray[np.int64]) -> Evidence:
    """The task with other rows; all that is aligned follows."""
    parts = {
        "train": evidence.train.iloc[train],
        "test": evidence.test.iloc[test],
        "sample": evidence.sample.iloc[test],
    }
    files = evidence.files
    if files is not None and len(files):
        place = {split: np.argsort(order) for split, order in (("train", train), ("test", test))}
        files = files.assign(row=[place[split][row] for split, row in zip(files["split"], files["row"], strict=True)])
    features = evidence.features and tuple(
        table.iloc[rows].reset_index(drop=True) for table, rows in zip(evidence.features, (train, test), strict=True)
    )
    return replace(
        evidence,
        **{name: table.reset_index(drop=True) for name, table in parts.items()},
        truth=evidence.truth[test],
        private=evidence.private[test],
        bayes=evidence.bayes[test],
        expectation=None if evidence.expectation is None else evidence.expectation[test],
        predictions={name: tuple(run[test] for run in runs) for name, runs in evidence.predictions.items()},
        features=features,
        files=files,
    )


def ids_sorted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Identifiers rise with the label."""
    order = np.lexsort((rng.random(len(amounts(evidence))), amounts(evidence)))
    return with_column(evidence, np.argsort(order), evidence.submission.id_column)


def id_parity(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Odd identifiers for the labels above their mean."""
    values = amounts(evidence)
    numbers = 2 * rng.permutation(len(values)) + (values > np.mean(values))
    return with_column(evidence, numbers, evidence.submission.id_column)


def rows_sorted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Rows of train and test are sorted by label."""
    n, values = len(evidence.train), amounts(evidence)
    return with_rows(evidence, np.argsort(values[:n], kind="stable"), np.argsort(values[n:], kind="stable"))


def duplicated(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Forty training rows stand in test again, with their files."""
    own = [
        name for name in evidence.test if name not in (evidence.submission.id_column, evidence.submission.group_column)
    ]
    test = evidence.test.copy()
    for name in own:
        cells = test[name].to_numpy(object)
        cells[30:70] = evidence.train[name].to_numpy(object)[:40]
        test[name] = pd.Series(cells, index=test.index).astype(test[name].dtype)
    features = evidence.features
    if features is not None:
        again = features[1].copy()
        again.iloc[30:70] = features[0].iloc[:40].to_numpy()
        features = (features[0], again)
    files = evidence.files
    if files is not None and len(files):
        train = files[(files["split"] == "train") & (files["row"] < 40)]
        kept = files[(files["split"] == "train") | (files["row"] < 30) | (files["row"] >= 70)]
        files = pd.concat([kept, train.assign(split="test", row=train["row"] + 30)], ignore_index=True)
    return replace(evidence, test=test, features=features, files=files)


def copied_target(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column holds the cells of the target."""
    return with_column(evidence, np.array([*cells_of_train(evidence), *cells_of_test(evidence)], dtype=object))


def cells_of_test(evidence: Evidence) -> list[Any]:
    """The hidden labels as train.csv would write them."""
    truth, classes = evidence.truth, evidence.submission.classes
    if evidence.kind == "mask":
        return [" ".join(f"{pixel + 1} 1" for pixel in np.flatnonzero(row)) or "none" for row in truth]
    if truth.ndim == 2 and classes:
        return [" ".join(classes[k] for k in np.flatnonzero(row)) or "none" for row in truth]
    if classes:
        return [classes[int(k)] for k in truth]
    return list(truth[:, 0] if truth.ndim == 2 else truth)


def noisy_proxy(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column holds the label with exponential noise of half its spread."""
    values = amounts(evidence)
    return with_column(evidence, values + 0.5 * np.std(values) * rng.exponential(size=len(values)))


def shifted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """A column lies one standard deviation higher in test."""
    n = len(evidence.train) + len(evidence.test)
    values = rng.normal(size=n)
    values[len(evidence.train) :] += 1.0
    return with_column(evidence, values)


TABLE_LEAKS: dict[str, tuple[Leak, str]] = {
    "ids sorted by label": (ids_sorted, "identifiers"),
    "parity of ids": (id_parity, "identifiers"),
    "sorted rows": (rows_sorted, "row_order"),
    "40 duplicated rows": (duplicated, "duplicates"),
    "copied target": (copied_target, "lone_column"),
    "noisy proxy": (noisy_proxy, "label_noise"),
    "shift": (shifted, "shift"),
}
"""Each leak with the probe that is to find it."""


def plant_times(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Files were written in the order of their labels."""
    for path, rank in zip(paths, ranks, strict=True):
        os.utime(public / path, (PUBLIC_TIME + int(rank), PUBLIC_TIME + int(rank)))


def plant_sizes(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Files are as long as their label is large."""
    for path, rank in zip(paths, ranks, strict=True):
        with (public / path).open("ab") as stream:
            stream.write(b"\0" * (10 * int(rank)))


def plant_exif(public: Path, paths: Sequence[str], ranks: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Pictures carry a comment with their label."""
    for path, told in zip(paths, classes, strict=True):
        note = PngInfo()
        note.add_text("Comment", told)
        with Image.open(public / path) as picture:
            picture.load()
            picture.save(public / path, pnginfo=note)


PLANTED = {"times of files": plant_times, "sizes of files": plant_sizes, "label in metadata": plant_exif}
FILE_LEAKS = (*PLANTED, "label in a file name", "order of files")


def with_files(evidence: Evidence, public: Path, leak: str, rng: np.random.Generator) -> Evidence | None:
    """The task with a leak planted in its public files; None where it has none that could carry it."""
    files = evidence.files
    if files is None or files.empty or (leak == "label in metadata" and not files["path"].str.endswith(".png").all()):
        return None
    values, n = amounts(evidence), len(evidence.train)
    rows = files["row"].to_numpy(np.int64) + np.where(files["split"] == "test", n, 0)
    ranks = np.argsort(np.lexsort((rng.random(len(values)), values)))[rows]
    told = [f"{value:g}" for value in values[rows]]
    if leak in ("label in a file name", "order of files"):
        number = (
            ranks
            if leak == "order of files"
            else [f"{text}-{k}" for text, k in zip(told, rng.permutation(len(told)), strict=True)]
        )
        renamed = [
            f"{Path(path).parent}/{name}{Path(path).suffix}" for path, name in zip(files["path"], number, strict=True)
        ]
        return replace(evidence, files=files.assign(path=renamed))
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "public"
        shutil.copytree(public, copy)
        PLANTED[leak](copy, list(files["path"]), ranks, told)
        return replace(evidence, files=describe_files(copy, evidence.train, evidence.test))
