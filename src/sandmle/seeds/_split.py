"""The published split: which labelled rows are held out, the same on every machine.

Rows are chosen by a numpy Generator seeded with ``SPLIT_SEED`` and the seed's id. Classes are held out in proportion,
and every class keeps at least one row in train; numbers are held out at random.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sandmle.seeds._table import SeedTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "PUBLIC_PERCENT",
    "SAMPLE_TEST_PERCENT",
    "SPLIT_SEED",
    "TEST_PERCENT",
    "choose_rows",
    "hold_out",
    "split_generator",
    "thin",
]

SPLIT_SEED = 20260407
TEST_PERCENT = 30
SAMPLE_TEST_PERCENT = 50
PUBLIC_PERCENT = 30


def split_generator(name: str, purpose: str) -> np.random.Generator:
    """The generator for one purpose (``rows``, ``usage``, ``sample``) of the seed or task called ``name``."""
    digest = hashlib.sha256(f"{name}\0{purpose}".encode()).digest()
    return np.random.default_rng([SPLIT_SEED, int.from_bytes(digest[:8], "big")])


def choose_rows(labels: Sequence[str] | None, n_rows: int, percent: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of shape (n_rows,) with ``percent`` of the rows, rounded down.

    Args:
        labels: the class of each row, chosen in proportion; a class with one row is never chosen. None: at random.
        n_rows: number of rows.
        percent: share to choose, in (0, 50]; at most every second row, so that no class is chosen whole.
        rng: source of the draw.
    """
    order = rng.permutation(n_rows)
    steps = np.arange(n_rows)
    chosen = np.zeros(n_rows, dtype=bool)
    if labels is not None:
        _, codes, counts = np.unique(np.asarray(labels, dtype=str), return_inverse=True, return_counts=True)
        order = order[np.argsort(codes[order], kind="stable")]
    chosen[order] = (steps + 1) * percent // 100 > steps * percent // 100
    if labels is not None:
        chosen &= counts[codes] > 1
    return chosen


def thin(rows: pd.DataFrame, most: int, *, name: str, target: str, classes: tuple[str, ...]) -> pd.DataFrame:
    """The published sample of ``most`` of ``rows``, classes in proportion; all rows where there are no more."""
    if len(rows) <= most:
        return rows
    order = split_generator(name, "sample").permutation(len(rows))
    if classes:
        _, codes = np.unique(rows[target].to_numpy(dtype=str), return_inverse=True)
        order = order[np.argsort(codes[order], kind="stable")]
    steps = np.arange(len(rows))
    kept = order[(steps + 1) * most // len(rows) > steps * most // len(rows)]
    return rows.iloc[np.sort(kept)].reset_index(drop=True)


def hold_out(
    rows: pd.DataFrame,
    *,
    name: str,
    target: str,
    classes: tuple[str, ...],
    id_column: str = "id",
    percent: int = TEST_PERCENT,
) -> SeedTable:
    """Split labelled rows into train, test and hidden answers, with fresh ids that tell nothing.

    Args:
        rows: features and target, one row each, without ids.
        name: the seed's id, which fixes the draw.
        target: the column to predict.
        classes: the labels in order; empty for numbers.
        id_column: name of the new first column; ids are 0..n-1 in an order of their own.
        percent: share to hold out, in (0, 50].
    """
    rng = split_generator(name, "rows")
    labels = list(rows[target]) if classes else None
    held = choose_rows(labels, len(rows), percent, rng)
    ordered = rows[[*(column for column in rows.columns if column != target), target]]
    labelled = ordered.assign(**{id_column: rng.permutation(len(rows))})[[id_column, *ordered.columns]]
    shuffle = rng.permutation(len(rows))
    test = labelled.iloc[shuffle[held[shuffle]]].reset_index(drop=True)
    return SeedTable(
        train=labelled.iloc[shuffle[~held[shuffle]]].reset_index(drop=True),
        test=test.drop(columns=target),
        answers=test[[id_column, target]],
        target=target,
        id_column=id_column,
        classes=classes,
    )
