"""Matrices of features for each modality; the training rows come first, and only they set scales and vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.images import read_images
from sandmle.eval.acceptance.search.layout import IMAGE, Sheet, feature_columns
from sandmle.eval.acceptance.search.tables import free_text, read_table
from sandmle.eval.reference.tuned.curves import curve_views
from sandmle.eval.reference.tuned.pictures import picture_views

__all__ = ["View", "views_of"]

MOST_COLUMNS = 120


@dataclass(frozen=True)
class View:
    """A matrix, dense or sparse, shape (n_train + n_test, p), and what kind of columns it has."""

    name: str
    kind: str
    matrix: Any


def views_of(facts: Facts, sheet: Sheet, seed: int) -> list[View]:
    """All views of the rows in ``sheet``."""
    n_train = len(sheet.train)
    both = pd.concat([sheet.train, sheet.test], ignore_index=True)
    table = read_table(sheet.table, np.arange(len(both)) < n_train, sheet.features)
    base = table.base()
    found = [View("table", "columns", base)] if base.shape[1] else []
    if table.derived:
        found.append(View("described", "columns", np.hstack([base, table.features(table.derived)])))
    for name in feature_columns(facts, sheet.train, sheet.test):
        known = both[name].dropna().astype(str)
        if known.str.fullmatch(IMAGE).all():
            pixels = read_images([str(path) for path in both[name]], Path("input"))
            found += [View(*view) for view in picture_views(pixels)]
        elif free_text(both[name]):
            found += text_views(both[name].fillna("").astype(str).tolist(), n_train)
    if Path("input/train_series.csv").exists():
        curves = curve_views(facts, both[facts.id_column].astype(str), n_train, seed)
        found += [View(name, kind, np.hstack([base, matrix])) for name, kind, matrix in curves]
    return [scaled(view, n_train) for view in found]


def text_views(texts: list[str], n_train: int) -> list[View]:
    """Words and pairs of words, pieces of words, and both."""
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit(texts[:n_train])
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=3, sublinear_tf=True, max_features=40_000)
    first, second = words.transform(texts), pieces.fit(texts[:n_train]).transform(texts)
    return [View("words", "terms", first), View("pieces", "terms", sparse.hstack([first, second]).tocsr())]


def scaled(view: View, n_train: int) -> View:
    """Dense columns on the scale of the training rows, constant ones as 0; many of them as their main directions."""
    if view.kind == "terms":
        return view
    matrix = np.asarray(view.matrix, dtype=np.float64)
    spread = matrix[:n_train].std(axis=0)
    centred = (matrix - matrix[:n_train].mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf)
    limited: Array = np.clip(centred, -8, 8)
    if limited.shape[1] <= MOST_COLUMNS or view.kind == "columns":
        return View(view.name, view.kind, limited)
    directions = np.linalg.svd(limited[:n_train], full_matrices=False)[2][:MOST_COLUMNS]
    return View(view.name, view.kind, limited @ directions.T)
