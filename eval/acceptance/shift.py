"""Do features and labels of train and test come from one population, column by column?

Columns of which the brief declares a shift are left out; with any, so are the labels, which follow.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import hypergeom

from sandmle.eval.acceptance._columns import Columns, read_columns
from sandmle.eval.acceptance._context import draw_splits, label_outcome
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import LeakTest, Splits, conclude
from sandmle.eval.acceptance._nulls import shift as compare
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["shift"]

MAX_P_ABSENT = 1e-3
SENTENCES = {
    "features": "features differ between train and test",
    "labels": "the target differs between train and test",
}


@probe("shift", stage=4)
def shift(evidence: Evidence, calibration: Calibration) -> Finding:
    """Marginals of columns and labels agree as in random splits; no level is absent from a side against all odds."""
    draw = evidence.generator("shift")
    splits = draw_splits(evidence, draw)
    columns = read_columns(evidence).without(evidence.declared_shift)
    tests: dict[str, LeakTest] = {}
    if len(columns):
        tests["features"] = _feature_shift(columns, splits)
    if not evidence.declared_shift:
        tests["labels"] = compare(label_outcome(evidence), [], splits)
    found = conclude(tests, SENTENCES)
    name, p = _most_absent(columns) if evidence.kind != "relevance" else ("", 1.0)
    absent = f"a level of {name!r} is missing on one side (p={p:.1g})" if p < MAX_P_ABSENT else ""
    reason = "; ".join(text for text in (found.reason, absent) if text)
    return Finding(reason, {**found.numbers, "absent_level_p": p}, passed=not reason)


def _feature_shift(columns: Columns, splits: Splits) -> LeakTest:
    n = splits.in_train.shape[1]
    return compare(np.column_stack([np.zeros((n, 0)), *columns.numeric.values()]), list(columns.codes.values()), splits)


def _most_absent(columns: Columns) -> tuple[str, float]:
    """The column with the level that is absent from train or test against the longest odds, and its p-value.

    Of N rows, n of them in train, K of the level: P(none in train) and P(none in test) are hypergeometric. The value
    is corrected for the number of levels by Bonferroni's bound.
    """
    found = [("", 1.0)]
    n_levels = 0
    for name, codes in columns.codes.items():
        inside = np.bincount(codes[: columns.n_train], minlength=codes.max() + 1)
        outside = np.bincount(codes[columns.n_train :], minlength=codes.max() + 1)
        n_levels += 2 * len(inside)
        for here, there, size in ((inside, outside, columns.n_train), (outside, inside, len(codes) - columns.n_train)):
            lost = there[here == 0]
            if len(lost):
                found.append((name, float(hypergeom.pmf(0, len(codes), lost, size).min())))
    name, p = min(found, key=lambda item: item[1])
    return name, min(1.0, p * max(n_levels, 1))
