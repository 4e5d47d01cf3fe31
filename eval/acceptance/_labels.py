"""Target cells as arrays, predictions as cells would hold them, and labels as numbers that can be correlated.

Vocabulary:
    truth form   how the truth of a kind comes to a metric, such as class indices or a 0/1 matrix
    outcome      columns of numbers that say something about a label whatever its kind, so that one statistic serves all
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.metrics import Array, Values
from sandmle.submission import COLUMN_PER_CLASS, EMPTY
from sandmle.task import SubmissionFormat

__all__ = ["LABEL_MATRIX", "ONE_CLASS", "PADDING", "blocks_of", "decode", "outcome", "read_labels", "read_target"]

LABEL_MATRIX = frozenset({"label_probabilities", "label_set"})
ONE_CLASS = frozenset({"label", "probability", "class_probabilities", "ranked_labels"})
PADDING = -1.0


def read_target(frame: pd.DataFrame, target: str, submission: SubmissionFormat) -> Values:
    """The labels of a training table in truth form; for ``relevance`` with the group numbers beside them.

    Raises:
        ValueError: a cell is not one of the classes, not a number, or no run lengths.
    """
    labels = read_labels(frame[target], submission)
    if submission.kind == "relevance" and submission.group_column in frame:
        groups = pd.factorize(frame[submission.group_column], sort=True)[0]
        return np.column_stack([labels, groups.astype(np.float64)])
    return labels


def read_labels(cells: pd.Series, submission: SubmissionFormat) -> Values:
    """A column of target cells in truth form, without groups.

    Raises:
        ValueError: a cell is not one of the classes, not a number, or no run lengths.
    """
    if submission.kind in ONE_CLASS:
        return _indices([str(cell) for cell in cells], submission.classes)
    if submission.kind in LABEL_MATRIX:
        return _label_matrix(cells, submission.classes)
    if submission.kind == "text":
        return cells.fillna("").astype(str).to_numpy(np.str_)
    if submission.mask_shape:
        height, width = submission.mask_shape
        return np.array([_pixels(cell, height * width) for cell in _words(cells)])
    return cells.to_numpy(np.float64)


def decode(table: pd.DataFrame, submission: SubmissionFormat) -> Values:
    """The predictions of a valid submission in the form that the metric takes."""
    columns = table[list(submission.prediction_columns)]
    if submission.kind in COLUMN_PER_CLASS:
        return columns.to_numpy(np.float64)
    if submission.kind == "probability":
        return columns.iloc[:, 0].to_numpy(np.float64)
    if submission.kind != "ranked_labels":
        return read_labels(columns.iloc[:, 0], submission)
    ranked = np.full((len(table), submission.top or 1), PADDING)
    for row, words in enumerate(_words(columns.iloc[:, 0])):
        ranked[row, : len(words)] = _indices(words, submission.classes)
    return ranked


def outcome(labels: Values, submission: SubmissionFormat) -> Array:
    """Labels in truth form as columns that a correlation can be taken of, shape (n, m).

    Classes become indicators, numbers their ranks, relevance its distance from the mean of its group, a text its
    length, words, digits and place in the alphabet, a mask its area, centre and extent.
    """
    if submission.kind in ONE_CLASS:
        return np.asarray(labels[:, None] == np.unique(labels), dtype=np.float64)
    if submission.kind in LABEL_MATRIX:
        return np.column_stack([labels, labels.sum(axis=1)])
    if submission.kind == "relevance":
        value, group = labels[:, 0], labels[:, 1].astype(np.int64)
        return (value - (np.bincount(group, value) / np.maximum(np.bincount(group), 1))[group])[:, None]
    if submission.kind == "text":
        return _text_outcome(pd.Series(labels, dtype=object))
    if submission.mask_shape:
        return _mask_outcome(labels.reshape(-1, *submission.mask_shape))
    return _ranks(labels)[:, None]


def blocks_of(labels: Values, submission: SubmissionFormat) -> NDArray[np.int64]:
    """The block of each row within which labels may change places: its group in a ranking, else one for all rows."""
    if submission.kind == "relevance":
        return labels[:, 1].astype(np.int64)
    return np.zeros(len(labels), dtype=np.int64)


def _indices(cells: Sequence[str], classes: Sequence[str]) -> Array:
    index = {name: float(k) for k, name in enumerate(classes)}
    whole = [text.removesuffix(".0") if text not in index else text for text in cells]
    if unknown := sorted({text for text in whole if text not in index}):
        raise ValueError(f"{unknown[0]!r} is not one of the classes {', '.join(classes)}")
    return np.array([index[text] for text in whole])


def _words(cells: pd.Series) -> list[list[str]]:
    return [[] if text == EMPTY else text.split() for text in cells.fillna(EMPTY).astype(str)]


def _label_matrix(cells: pd.Series, classes: Sequence[str]) -> Array:
    matrix = np.zeros((len(cells), len(classes)))
    for row, words in enumerate(_words(cells)):
        matrix[row, _indices(words, classes).astype(np.int64)] = 1.0
    return matrix


def _pixels(words: Sequence[str], size: int) -> Array:
    runs = np.array([int(word) for word in words], dtype=np.int64).reshape(-1, 2)
    pixels = np.zeros(size)
    for start, length in runs:
        if start < 1 or length < 1 or start + length - 1 > size:
            raise ValueError(f"the run {start} {length} lies outside a mask of {size} pixels")
        pixels[start - 1 : start - 1 + length] = 1.0
    return pixels


def _ranks(values: Values) -> Array:
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


def _text_outcome(texts: pd.Series) -> Array:
    facts = (texts.str.len(), texts.str.count(r"\S+"), texts.str.count(r"\d"), texts)
    return np.column_stack([_ranks(fact.to_numpy()) for fact in facts])


def _mask_outcome(masks: Array) -> Array:
    """Area, centre (row, column) and extent (height, width); an empty mask lies in the middle."""
    n, height, width = masks.shape
    area = masks.sum(axis=(1, 2))
    facts = [area]
    for axis, size in ((2, height), (1, width)):
        profile = masks.sum(axis=axis)
        centre = profile @ np.arange(size) / np.maximum(area, 1.0)
        facts += [np.where(area > 0, centre, (size - 1) / 2), (profile > 0).sum(axis=1)]
    return np.column_stack([_ranks(np.asarray(fact, dtype=np.float64)) for fact in facts]).reshape(n, -1)
