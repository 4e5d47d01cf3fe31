"""Does one column alone do better than knowing the rule?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance._columns import Columns, read_columns, standardise
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._labels import outcome, read_labels, read_target
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance._stand_ins import as_predictions, better_score, fit_alone
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array, Values

__all__ = ["closest_columns", "lone_column"]

MAX_COLUMNS = 12
BINS = 8


@probe("lone_column", stage=4)
def lone_column(evidence: Evidence, calibration: Calibration) -> Finding:
    """No column, fitted alone or read as the target itself, beats the informed rung on the Private rows.

    Of many columns only the twelve that explain most of the training labels are fitted.
    """
    best, score = "", -np.inf
    for name, prediction in _predictions(evidence):
        better = better_score(evidence, prediction)
        if better is not None and better > score:
            best, score = name, better
    if not best:
        return Finding("", {}, passed=True)
    sign = evidence.sign
    numbers = {"best_column": sign * score, "informed": sign * calibration.informed}
    if score <= calibration.informed:
        return Finding("", numbers, passed=True)
    scores = f"{sign * score:.4g} against informed {sign * calibration.informed:.4g}"
    return Finding(f"the column {best!r} alone gives the target away ({scores})", numbers, passed=False)


def _predictions(evidence: Evidence) -> Iterator[tuple[str, Values]]:
    form = evidence.submission
    labels = read_target(evidence.train, evidence.target, form)
    columns = read_columns(evidence)
    for name in closest_columns(columns, outcome(labels, form)):
        for prediction in fit_alone(form, standardise(columns.only(name).matrix()), labels):
            yield name, prediction
    for name in map(str, evidence.test):
        if name in evidence.train and name not in (evidence.target, form.id_column, form.group_column):
            copied = _read_as_target(evidence, name)
            if copied is not None:
                yield name, copied


def _read_as_target(evidence: Evidence, name: str) -> Values | None:
    """The column taken for the target; None where its cells can't be that."""
    try:
        return as_predictions(read_labels(evidence.test[name], evidence.submission), evidence.submission)
    except (ValueError, TypeError, OverflowError):
        return None


def closest_columns(columns: Columns, labels: Array) -> list[str]:
    """Names of the (at most twelve) columns whose bins or levels explain most of the labels' variance in train."""
    explained = {}
    for name in (*columns.numeric, *columns.codes):
        codes = columns.codes[name] if name in columns.codes else _binned(columns.numeric[name])
        seen = codes[: columns.n_train]
        counts = np.maximum(np.bincount(seen), 1)
        centred = labels - labels.mean(axis=0)
        between = sum(
            (np.bincount(seen, column) ** 2 / counts).sum() / max(float(column @ column), 1e-12) for column in centred.T
        )
        explained[name] = float(between)
    return sorted(explained, key=lambda name: -explained[name])[:MAX_COLUMNS]


def _binned(values: Array) -> NDArray[np.int64]:
    """Eight bins of about equal size; empty cells are a ninth."""
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else known
    return np.where(np.isnan(values), BINS, np.searchsorted(edges, values)).astype(np.int64)
