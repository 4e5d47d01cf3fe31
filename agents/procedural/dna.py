"""Extracting a seed's structural DNA from its real data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api import types as column_types

from sandmle.errors import BadInput
from sandmle.record import Record
from sandmle.seeds import Seed, load_table
from sandmle.task import ProblemType, StructuralDNA

if TYPE_CHECKING:
    from sandmle.eval.metrics import Array

__all__ = ["extract_dna", "read_dna"]

MAX_ROWS = 600
MIN_ROWS = 20
FOLDS = 5
UNKNOWN_NUMERIC, UNKNOWN_CATEGORICAL = 7, 2
"""Columns assumed of a table that nobody has seen."""


class ColumnCounts(Record):
    """How many feature columns of each kind, the most levels of a categorical one, and the share of empty cells."""

    numeric: int
    categorical: int
    dates: int
    max_cardinality: int
    missing_share: float


def read_dna(seed: Seed) -> StructuralDNA:
    """The structure of a seed: measured where it has labelled rows, else what its description tells.

    Raises:
        BadInput: the description tells neither modality nor type of problem.
    """
    if seed.has_data and seed.modality in (None, "tabular"):
        return extract_dna(seed)
    if seed.modality is None or seed.problem_type is None:
        raise BadInput(f"seed {seed.id}: neither data nor a known modality and type of problem to start from")
    return StructuralDNA(
        modality=seed.modality,
        problem_type=seed.problem_type,
        metric=seed.metric,
        n_rows=seed.n_rows or 1,
        n_numeric=UNKNOWN_NUMERIC if seed.modality in ("tabular", "multimodal") else 0,
        n_categorical=UNKNOWN_CATEGORICAL if seed.modality in ("tabular", "multimodal") else 0,
    )


def extract_dna(seed: Seed) -> StructuralDNA:
    """Measure the structure of a seed's labelled rows.

    Raises:
        BadInput: the seed has no labelled rows at hand, or its modality is not tabular.
    """
    if not seed.has_data or seed.problem_type is None:
        raise BadInput(f"seed {seed.id}: no labelled data at hand; synthesis starts from seeds that have some")
    if seed.modality not in (None, "tabular"):
        raise BadInput(f"seed {seed.id}: modality {seed.modality!r} can't be synthesised yet; choose a tabular seed")
    table = load_table(seed)
    target = table.train[table.target]
    if len(target) < MIN_ROWS:
        raise BadInput(f"seed {seed.id}: {len(target)} labelled rows are too few to measure its structure")
    features = table.train.drop(columns=[table.target, table.id_column], errors="ignore")
    counts = _count(features)
    shares: tuple[float, ...] = ()
    skew = 0.0
    if seed.problem_type == "regression":
        skew = round(float(pd.to_numeric(target).skew()), 3)  # type: ignore[arg-type]
    else:
        shares = tuple(round(float(share), 4) for share in target.astype(str).value_counts(normalize=True))
    linear_share = _linear_share(features, target, seed.problem_type)
    return StructuralDNA(
        modality="tabular",
        problem_type=seed.problem_type,
        metric=seed.metric,
        n_rows=len(target),
        n_numeric=counts.numeric,
        n_categorical=counts.categorical,
        n_dates=counts.dates,
        missing_share=counts.missing_share,
        max_cardinality=counts.max_cardinality,
        class_shares=shares,
        target_skew=skew,
        linear_share=linear_share,
        difficulty=_difficulty(counts, shares, skew, linear_share),
    )


def _count(features: pd.DataFrame) -> ColumnCounts:
    numeric = [name for name in features if column_types.is_numeric_dtype(features[name])]
    rest = [name for name in features if name not in numeric]
    dates = [
        name for name in rest if pd.to_datetime(features[name], errors="coerce", format="ISO8601").notna().mean() > 0.9
    ]
    categorical = [name for name in rest if name not in dates]
    return ColumnCounts(
        numeric=len(numeric),
        categorical=len(categorical),
        dates=len(dates),
        max_cardinality=max((int(features[name].nunique()) for name in categorical), default=0),
        missing_share=round(float(features.isna().to_numpy().mean()), 4) if features.size else 0.0,
    )


def _difficulty(counts: ColumnCounts, shares: tuple[float, ...], skew: float, linear_share: float) -> tuple[str, ...]:
    found = {
        "imbalance": bool(shares) and shares[0] > 1.5 / len(shares),
        "nonlinearity": linear_share < 0.9,
        "missing values": counts.missing_share > 0.01,
        "many levels": counts.max_cardinality > 10,
        "skewed target": abs(skew) > 1.0,
    }
    return tuple(name for name, present in found.items() if present)


def _linear_share(features: pd.DataFrame, target: pd.Series, problem: ProblemType) -> float:
    """Cross-validated skill of a linear model over that of the better of linear and trees, rounded to 2 decimals.

    Skill is R2 on the target itself, or on the indicator of its most frequent class: one scale for every problem.
    """
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict

    rows = np.random.default_rng(0).permutation(len(target))[:MAX_ROWS]
    encoded = pd.get_dummies(features.iloc[rows], dtype=float)
    x = encoded.fillna(encoded.median()).fillna(0.0).to_numpy(float)
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    if problem == "regression":
        y = pd.to_numeric(target.iloc[rows]).to_numpy(float)
    else:
        y = (target.iloc[rows] == target.mode().iloc[0]).to_numpy(float)
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    models = (RidgeCV(np.logspace(-1, 3, 9)), ExtraTreesRegressor(100, random_state=0))
    linear, trees = (max(_r2(y, cross_val_predict(model, x, y, cv=folds)), 0.0) for model in models)
    return round(linear / max(linear, trees), 2) if max(linear, trees) > 0 else 1.0


def _r2(truth: Array, prediction: Array) -> float:
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - prediction) ** 2).sum()) / spread if spread > 0 else 0.0
