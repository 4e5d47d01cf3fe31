"""Do the files of items tell of the target by anything but their content?

Names (their order, numbers, words and characters), modification times and metadata must be independent of labels. A
file's size follows from its content, and so, honestly, from the label; it must not carry the label's noise, nor reach
silver alone.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.acceptance._above_bayes import Z_BEATEN, advantage_over_bayes
from sandmle.eval.acceptance._columns import standardise
from sandmle.eval.acceptance._context import label_blocks, label_outcome
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._labels import read_target
from sandmle.eval.acceptance._nulls import LeakTest, association, conclude, residual_association
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance._residuals import bayes_residual
from sandmle.eval.acceptance._stand_ins import better_score, fit_alone
from sandmle.eval.acceptance._texts import metadata_features, text_features
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.eval.metrics import Array

__all__ = ["files"]

SENTENCES = {
    "names": "file names tell of the target",
    "times": "modification times of files tell of the target",
    "metadata": "metadata inside files tell of the target",
    "sizes": "sizes of files carry the noise of the hidden target",
}
DAY_NS = 86_400 * 10**9


@probe("files", stage=4)
def files(evidence: Evidence, calibration: Calibration) -> Finding:
    """Labels are independent of names, times and metadata of files; sizes know nothing that the content does not."""
    if evidence.files is None or evidence.files.empty:
        return Finding("", {"files": 0.0}, passed=True)
    draw = evidence.generator("files")
    outcome, blocks = label_outcome(evidence), label_blocks(evidence, apart=True)
    tests: dict[str, LeakTest] = {}
    sizes = []
    for column, part in evidence.files.groupby("column", sort=True):
        rows = part["row"].to_numpy(np.int64) + np.where(part["split"] == "test", len(evidence.train), 0)
        suffix = "" if evidence.files["column"].nunique() == 1 else f" of {column}"
        for name, features in _facts(part).items():
            if features.shape[1]:
                tests[name + suffix] = association(features, outcome[rows], blocks[rows], draw, neighbours=False)
        sizes.append(_sizes(part, rows, len(outcome)))
    residual = bayes_residual(evidence)
    table = np.hstack(sizes)
    beaten = None
    if residual is not None:
        tests["sizes"] = residual_association(table[len(evidence.train) :], residual, draw)
    else:
        beaten = advantage_over_bayes(evidence, {"sizes": table[len(evidence.train) :]}, draw)
    found = conclude(tests, {name: SENTENCES[name.split(" of ")[0]] for name in tests})
    known = f"{SENTENCES['sizes']} (z={beaten[1]:.1f})" if beaten and beaten[1] > Z_BEATEN else ""
    reason = "; ".join(text for text in (found.reason, known, _size_alone(evidence, calibration, table)) if text)
    return Finding(reason, {"files": float(len(evidence.files)), **found.numbers}, passed=not reason)


def _facts(part: pd.DataFrame) -> dict[str, Array]:
    """Features of names, times and metadata of one column's files, in the order of ``part``."""
    paths = [PurePosixPath(path) for path in part["path"]]
    names = text_features([path.stem for path in paths])
    folders = text_features([f"{path.parent} {path.suffix}" for path in paths])
    times = part["mtime_ns"].to_numpy(np.int64)
    clock = np.column_stack([pd.Series(times).rank(), times % DAY_NS / DAY_NS, times % 2, times // 10**9 % 2])
    metadata = [str(text) for text in part["metadata"].fillna("")]
    return {"names": np.hstack([names, folders]), "times": clock, "metadata": metadata_features(metadata)}


def _sizes(part: pd.DataFrame, rows: NDArray[np.int64], n: int) -> Array:
    """Rank, parity and last digits of the file sizes at the places of their rows; 0 where a row has no file."""
    size = part["bytes"].to_numpy(np.int64)
    digits = (size[:, None] % 10 == np.arange(10)).astype(np.float64)
    table = np.zeros((n, 12))
    table[rows] = np.column_stack([pd.Series(size).rank(), size % 2, digits])
    return table


def _size_alone(evidence: Evidence, calibration: Calibration, table: Array) -> str:
    if calibration.thresholds is None or not np.ptp(table, axis=0).any():
        return ""
    labels = read_target(evidence.train, evidence.target, evidence.submission)
    silver, sign = calibration.thresholds.silver, calibration.sign
    for prediction in fit_alone(evidence.submission, standardise(table), labels):
        better = better_score(evidence, prediction)
        if better is not None and better >= sign * silver:
            return f"sizes of files alone score {sign * better:.4g} and reach silver, {silver:.4g}"
    return ""
