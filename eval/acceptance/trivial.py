"""Do submissions that understand nothing stay below bronze?

Tried are constants, random draws, the sample submission and its shuffles, models of the identifier alone and of the row
number alone, and copies of the labels of (nearly) duplicated training rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from sandmle.eval.acceptance._columns import read_columns, standardise
from sandmle.eval.acceptance._evidence import DUMMY, Evidence
from sandmle.eval.acceptance._identifiers import identifier_features
from sandmle.eval.acceptance._labels import decode, read_target
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance._stand_ins import (
    as_predictions,
    better_score,
    constants,
    fit_alone,
    random_predictions,
)
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Values

__all__ = ["trivial"]

RANDOM_DRAWS = 5
DUPLICATE_DISTANCE = 0.01


@probe("trivial", stage=3)
def trivial(evidence: Evidence, calibration: Calibration) -> Finding:
    """Every trivial submission scores below the bronze threshold on the Private rows."""
    if calibration.thresholds is None:
        return Finding("no thresholds to compare with", {}, passed=False)
    bronze, sign = calibration.thresholds.bronze, calibration.sign
    best: dict[str, float] = {}
    for name, prediction in _submissions(evidence):
        better = better_score(evidence, prediction)
        if better is not None:
            best[name] = max(better, best.get(name, -np.inf))
    numbers = {name: sign * better for name, better in best.items()} | {"bronze": bronze}
    winners = [name for name, better in best.items() if better >= sign * bronze]
    if not winners:
        return Finding("", numbers, passed=True)
    worst = max(winners, key=lambda name: best[name])
    reason = f"a trivial submission ({worst}) scores {sign * best[worst]:.4g} and reaches bronze, {bronze:.4g}"
    return Finding(reason, numbers, passed=False)


def _submissions(evidence: Evidence) -> Iterator[tuple[str, Values]]:
    form = evidence.submission
    labels = read_target(evidence.train, evidence.target, form)
    draw = evidence.generator("trivial")
    n_train, n_test = len(evidence.train), len(evidence.test)
    for constant in constants(labels, form):
        yield "constant", np.repeat(constant[None], n_test, axis=0)
    for _ in range(RANDOM_DRAWS):
        yield "random", random_predictions(labels, form, n_test, draw)
    sample = decode(evidence.sample, form)
    yield "sample", sample
    for _ in range(RANDOM_DRAWS):
        yield "shuffled_sample", sample[draw.permutation(n_test)]
    column = form.id_column
    ids = identifier_features(pd.concat([evidence.train[column], evidence.test[column]], ignore_index=True))
    rows = np.concatenate([np.linspace(0, 1, n_train), np.linspace(0, 1, n_test)])[:, None]
    for name, features in (("identifier", ids), ("row_order", rows)):
        for prediction in fit_alone(form, standardise(features), labels):
            yield name, prediction
    yield "nearest_duplicate", _nearest_duplicate(evidence, labels)


def _nearest_duplicate(evidence: Evidence, labels: Values) -> Values:
    """The label of the nearest training row where it is within 0.01 standard deviations a column, else the dummy."""
    matrix = read_columns(evidence).matrix()
    prediction = np.array(evidence.predictions[DUMMY][0])
    if not matrix.shape[1]:
        return prediction
    seen, unseen = matrix[: len(labels)], matrix[len(labels) :]
    distance, nearest = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(seen).kneighbors(unseen)
    copied = distance[:, 0] <= DUPLICATE_DISTANCE * np.sqrt(matrix.shape[1])
    source = as_predictions(labels, evidence.submission)[nearest[:, 0]]
    chosen = copied.reshape(-1, *(1,) * (source.ndim - 1))
    return np.where(chosen, source, prediction)
