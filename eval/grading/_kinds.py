"""From the cells of a table to what a metric takes, for every kind of prediction.

A submission has one prediction column, or one per class; the truth is one column for every kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sandmle.eval.grading._cells import class_index, label_sets, labels, masks, numbers, place, rankings, texts
from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.eval.metrics import Array, Values
from sandmle.grades import GradeError
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import SubmissionFormat

__all__ = ["decode_columns", "decode_truth"]

PROBABILITIES = COLUMN_PER_CLASS | {"probability"}
SUM_TOLERANCE = 1.1e-5
"""How far a sum of class probabilities may lie from 1 where it must be 1: what MLE-bench allows."""


def decode_columns(columns: Sequence[Sequence[str]], form: SubmissionFormat, domain: tuple[float, float]) -> Values:
    """The predictions in the order of the file, as ``Metric.score`` takes them.

    Args:
        columns: the cells of each prediction column.
        form: what they should be.
        domain: closed interval of numbers that the metric takes; probabilities are held to [0, 1] anyhow.

    Raises:
        InvalidSubmission: the first fault, column by column and row by row.
    """
    name, cells = form.prediction_columns[0], columns[0]
    if form.kind == "label":
        return labels(cells, class_index(form), name)
    if form.kind == "label_set":
        return label_sets(cells, class_index(form), name)
    if form.kind == "ranked_labels":
        assert form.top is not None
        return rankings(cells, class_index(form), form.top, name)
    if form.kind == "text":
        return texts(cells, name)
    if form.kind == "mask":
        assert form.mask_shape is not None
        return masks(cells, form.mask_shape, name)
    low, high = (max(domain[0], 0.0), min(domain[1], 1.0)) if form.kind in PROBABILITIES else domain
    parsed = [
        _within(numbers(cells, name), name, low, high)
        for name, cells in zip(form.prediction_columns, columns, strict=True)
    ]
    if form.kind not in COLUMN_PER_CLASS:
        return parsed[0]
    matrix = np.column_stack(parsed)
    if form.kind == "class_probabilities":
        _check_sums(matrix.sum(axis=1), form)
    return matrix


def decode_truth(cells: Sequence[str], form: SubmissionFormat, column: str) -> Values:
    """The truth as ``Metric.score`` takes it, but for the group numbers of ``relevance``.

    Raises:
        InvalidSubmission: a cell is not what it should be; names column and row.
    """
    if form.kind in ("label_set", "label_probabilities"):
        return label_sets(cells, class_index(form), column)
    if form.kind == "text":
        return texts(cells, column)
    if form.kind == "mask":
        assert form.mask_shape is not None
        return masks(cells, form.mask_shape, column)
    if form.kind == "relevance":
        return _within(numbers(cells, column), column, 0.0, np.inf)
    if form.kind == "number":
        return numbers(cells, column)
    return labels(cells, class_index(form), column)


def _check_sums(sums: Array, form: SubmissionFormat) -> None:
    """Refuse rows that can't be rescaled to sum to 1, or must not be."""
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE if form.sums_to_one else sums == 0.0)
    if wrong.size:
        row = int(wrong[0])
        raise InvalidSubmission(
            GradeError.OUT_OF_DOMAIN, f"row {row + 1}: the class probabilities sum to {sums[row]:.6g}"
        )


def _within(values: Array, column: str, low: float, high: float) -> Array:
    outside = np.flatnonzero((values < low) | (values > high))
    if outside.size:
        where = place(column, int(outside[0]))
        raise InvalidSubmission(
            GradeError.OUT_OF_DOMAIN, f"{where}: {values[outside[0]]:g} is outside [{low:g}, {high:g}]"
        )
    return values
