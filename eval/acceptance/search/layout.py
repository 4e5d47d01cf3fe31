"""What lies in ``input/``: ordinary columns, and images, sounds, texts, series or a graph to make features of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Facts
from sandmle.eval.acceptance.search.graphs import graph_features
from sandmle.eval.acceptance.search.images import image_features
from sandmle.eval.acceptance.search.pairs import pair_features
from sandmle.eval.acceptance.search.series import series_features
from sandmle.eval.acceptance.search.sounds import sound_features
from sandmle.eval.acceptance.search.tables import MAX_LEVELS, free_text
from sandmle.eval.acceptance.search.texts import text_features

__all__ = ["Sheet", "feature_columns", "read_sheet", "read_tables"]

IMAGE = r"(?i).*\.(png|jpe?g|bmp|gif|tiff?)"
SOUND = r"(?i).*\.wav"


@dataclass(frozen=True)
class Sheet:
    """Training and test rows as they stand, and both together: ordinary columns, and features of everything else."""

    train: pd.DataFrame
    test: pd.DataFrame
    table: pd.DataFrame
    features: pd.DataFrame


def read_tables(facts: Facts, root: Path = Path("input")) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows that have a target, and test rows; ids and targets are text."""
    train = pd.read_csv(root / "train.csv", converters={facts.id_column: str, facts.target: str})
    test = pd.read_csv(root / "test.csv", converters={facts.id_column: str})
    return train[train[facts.target] != ""].reset_index(drop=True), test


def feature_columns(facts: Facts, train: pd.DataFrame, test: pd.DataFrame) -> list[str]:
    """Columns that both have, but id and target."""
    return [str(c) for c in train if c in test and c not in (facts.id_column, facts.target)]


def read_sheet(facts: Facts, root: Path = Path("input")) -> Sheet:
    """Read everything and compute all features, whatever the modality."""
    train, test = read_tables(facts, root)
    both = pd.concat([train, test], ignore_index=True)
    n_train, table, texts, found = len(train), {}, {}, []
    graph = (root / "nodes.csv").exists() and (root / "edges.csv").exists()
    if graph:
        ends, frames = graph_features(facts, both, n_train, root)
        found += frames
    for name in feature_columns(facts, train, test):
        known = both[name].dropna().astype(str)
        if facts.group_column == name or (graph and name in ends):
            continue
        if len(known) and known.str.fullmatch(IMAGE).all():
            found.append(image_features(name, both[name], n_train, root))
        elif len(known) and known.str.fullmatch(SOUND).all():
            found.append(sound_features(name, both[name], n_train, root))
        elif free_text(both[name]):
            texts[name] = both[name].fillna("").astype(str)
        else:
            table[name] = both[name]
    found += [text_features(name, list(values), n_train) for name, values in texts.items()]
    if len(texts) == 2:
        (a, first), (b, second) = texts.items()
        found.append(pair_features(f"{a} {b}", list(first), list(second), n_train))
    if (root / "train_series.csv").exists() and (root / "test_series.csv").exists():
        found.append(series_features(facts, both[facts.id_column], root))
    ordinary = pd.DataFrame(table, index=both.index)
    if facts.group_column:
        found.append(relative_features(ordinary, both[facts.group_column].astype(str)))
    features = pd.concat(found, axis=1) if found else pd.DataFrame(index=both.index)
    return Sheet(train, test, ordinary, features)


def relative_features(table: pd.DataFrame, groups: pd.Series) -> pd.DataFrame:
    """Numbers against the others of the group: less the mean, in standard deviations, as a rank, best or worst."""
    columns: dict[str, pd.Series] = {}
    for name, values in table.items():
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 2:
            grouped = values.groupby(groups)
            centred = values - grouped.transform("mean")
            columns[f"{name} in group/centred"] = centred
            columns[f"{name} in group/scaled"] = centred / (grouped.transform("std") + 1e-9)
            columns[f"{name} in group/rank"] = grouped.rank(pct=True)
            columns[f"{name} in group/largest"] = (values == grouped.transform("max")).astype(float)
            columns[f"{name} in group/smallest"] = (values == grouped.transform("min")).astype(float)
        elif values.nunique() <= MAX_LEVELS:
            shares = values.astype(str)
            for level in sorted(set(shares)):
                here = (shares == level).astype(float)
                columns[f"{name} in group/{level} centred"] = here - here.groupby(groups).transform("mean")
    columns["group/size"] = groups.groupby(groups).transform("size").astype(float)
    return pd.DataFrame(columns).replace([np.inf, -np.inf], np.nan)
