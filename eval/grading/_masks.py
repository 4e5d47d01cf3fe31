"""Masks as run lengths: ``start length`` pairs separated by spaces, pixels counted from 1 row by row.

Runs are in ascending order and do not overlap; a mask without a pixel is written ``none``.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.grading._fault import InvalidSubmission, quoted
from sandmle.eval.metrics import Array, Values
from sandmle.grades import GradeError
from sandmle.submission import EMPTY

__all__ = ["decode_mask", "encode_mask"]

MAX_DIGITS = 9


def encode_mask(mask: Values) -> str:
    """The run lengths of a mask of any shape; what is not 0 belongs to it."""
    edges = np.diff(np.concatenate([[0], (np.asarray(mask).reshape(-1) != 0).astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    pairs = zip((starts + 1).tolist(), (ends - starts).tolist(), strict=True)
    return " ".join(f"{start} {length}" for start, length in pairs) or EMPTY


def decode_mask(cell: str, shape: tuple[int, int]) -> Array:
    """The mask that run lengths describe, 0 or 1, shape (height * width,); an empty cell counts as ``none``.

    Raises:
        InvalidSubmission: a word is not a whole number in ASCII digits (not_numeric); or a number is alone, a run is
            empty, leaves the image, overlaps another or comes before it (out_of_domain).
    """
    words = cell.split()
    pixels = shape[0] * shape[1]
    if not words or words == [EMPTY]:
        return np.zeros(pixels)
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise InvalidSubmission(GradeError.NOT_NUMERIC, f"{quoted(word)} is not a whole number")
    if len(words) % 2:
        raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, "a run's start has no length")
    if any(len(word) > MAX_DIGITS for word in words):
        raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, f"a run leaves the {pixels} pixels of the image")
    starts, lengths = np.array(words, dtype=np.int64).reshape(-1, 2).T
    ends = starts + lengths
    if lengths.min() < 1:
        raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, "a run is empty")
    if starts.min() < 1 or ends.max() > pixels + 1:
        raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, f"a run leaves the {pixels} pixels of the image")
    if np.any(starts[1:] < ends[:-1]):
        raise InvalidSubmission(GradeError.OUT_OF_DOMAIN, "two runs overlap or are out of order")
    edges = np.zeros(pixels + 1)
    edges[starts - 1] += 1.0
    edges[ends - 1] -= 1.0
    return np.asarray(np.cumsum(edges)[:pixels])
