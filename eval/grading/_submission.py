"""From a submission file, or its bytes, to predictions aligned with the answer key."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sandmle.errors import InfraError
from sandmle.eval.grading._answers import AnswerKey
from sandmle.eval.grading._cells import canonical
from sandmle.eval.grading._fault import InvalidSubmission, quoted
from sandmle.eval.grading._kinds import decode_columns
from sandmle.eval.grading._table import parse_csv
from sandmle.eval.metrics import Values
from sandmle.grades import GradeError
from sandmle.task import SubmissionFormat, Task

__all__ = ["MAX_BYTES", "decode_submission", "read_bytes", "read_submission", "size_limit"]

MAX_BYTES = 64 << 20
"""The largest submission that is read, in bytes, where the sample submission is not large itself."""
_TIMES_THE_SAMPLE = 4

ANY_NUMBER = (-math.inf, math.inf)
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
NOT_A_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EACCES, errno.EPERM)


def read_submission(
    path: Path,
    form: SubmissionFormat,
    key: AnswerKey,
    *,
    domain: tuple[float, float] = ANY_NUMBER,
    max_bytes: int = MAX_BYTES,
) -> Values:
    """Open the submission ``path`` safely and decode it, see ``decode_submission``.

    The last component of the path is not followed if it is a link, a pipe or device is not waited for, and only a
    regular file is read.

    Raises:
        InvalidSubmission: the first fault.
        InfraError: the machine could not read the file (such as no file handles left): not the submission's fault.
    """
    return decode_submission(read_bytes(path, max_bytes), form, key, domain=domain, max_bytes=max_bytes)


def decode_submission(
    data: bytes,
    form: SubmissionFormat,
    key: AnswerKey,
    *,
    domain: tuple[float, float] = ANY_NUMBER,
    max_bytes: int = MAX_BYTES,
) -> Values:
    """Decode the bytes of a submission into predictions in the order of ``key``.

    Columns are found by name, rows by id: any order, further columns, an unnamed index column, a byte order mark, CRLF,
    spaces around a cell and ``1.0`` for ``1`` in ids and labels are all accepted.

    Args:
        data: the file's content.
        form: what a submission must look like.
        key: the rows that must be there.
        domain: closed interval of numbers that the metric takes; probabilities are held to [0, 1] anyhow.
        max_bytes: largest content taken.

    Returns:
        What ``Metric.score`` takes for the kind of prediction, one entry or row per row of ``key``; no row of class
        probabilities sums to 0.

    Raises:
        InvalidSubmission: the first fault, in the order that ``sandmle.eval.grading`` documents.
    """
    if len(data) > max_bytes:
        raise InvalidSubmission(GradeError.TOO_LARGE, f"the file is larger than {max_bytes} bytes")
    header, rows = parse_csv(data)
    wanted = _locate(header, (form.id_column, *form.prediction_columns))
    table = _take(rows, wanted, len(key.ids))
    order = _align([canonical(row[0]) for row in table], key)
    columns = [[row[place] for row in table] for place in range(1, len(wanted))]
    return decode_columns(columns, form, domain)[order]


def size_limit(task: Task) -> int:
    """The largest submission to ``task`` that is read, in bytes."""
    sample = task.public / "sample_submission.csv"
    return max(MAX_BYTES, _TIMES_THE_SAMPLE * sample.stat().st_size) if sample.is_file() else MAX_BYTES


def read_bytes(path: Path, max_bytes: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InvalidSubmission(GradeError.NOT_REGULAR, "the submission is not a regular file")
            return _read_bounded(handle, max_bytes + 1)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in NOT_THERE:
            raise InvalidSubmission(GradeError.MISSING, "there is no submission file") from error
        if error.errno in NOT_A_FILE:
            raise InvalidSubmission(GradeError.NOT_REGULAR, "the submission is not a readable regular file") from error
        raise InfraError(f"could not read a submission: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidSubmission(GradeError.MISSING, "there is no submission file") from error


def _read_bounded(handle: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left and (part := os.read(handle, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _locate(header: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The position of each named column."""
    for name in names:
        if name in header:
            continue
        near = next((column for column in header if column.strip().casefold() == name.strip().casefold()), None)
        if near is not None:
            raise InvalidSubmission(GradeError.COLUMN_CASE, f"column {quoted(near)} must be spelled {name!r}")
        raise InvalidSubmission(GradeError.MISSING_COLUMN, f"there is no column {name!r}")
    return tuple(header.index(name) for name in names)


def _take(rows: Iterator[list[str]], wanted: Sequence[int], n_rows: int) -> list[tuple[str, ...]]:
    """The wanted cells of all rows, but of no more than one row past ``n_rows``."""
    table: list[tuple[str, ...]] = []
    for row in rows:
        table.append(tuple(row[place] for place in wanted))
        if len(table) > n_rows:
            break
    if not table:
        raise InvalidSubmission(GradeError.HEADER_ONLY, "there is a header but no rows")
    return table


def _align(ids: Sequence[str], key: AnswerKey) -> NDArray[np.intp]:
    """The row of the submission that holds each row of the key."""
    found = {name: row for row, name in enumerate(ids)}
    if len(found) < len(ids):
        repeated = next(name for row, name in enumerate(ids) if found[name] != row)
        raise InvalidSubmission(GradeError.DUPLICATE_IDS, f"id {quoted(repeated)} occurs more than once")
    missing = [name for name in key.ids if name not in found]
    if missing and len(ids) <= len(key.ids):
        raise InvalidSubmission(
            GradeError.MISSING_ROWS,
            f"{len(missing)} of {len(key.ids)} test ids are missing, the first is {quoted(missing[0])}",
        )
    extra = next((name for name in ids if name not in key.position), None)
    if extra is not None:
        raise InvalidSubmission(GradeError.EXTRA_ROWS, f"id {quoted(extra)} is not a test id")
    return np.array([found[name] for name in key.ids], dtype=np.intp)
