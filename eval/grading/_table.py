"""CSV read strictly: UTF-8, one comma-separated table, every row as wide as its header.

Nothing is guessed: no other delimiter, encoding or number format. Rows are handed out one at a time, so that a hostile
file costs little more memory than its bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.grades import GradeError

__all__ = ["parse_csv"]

MAX_LINE = 1 << 20


def parse_csv(data: bytes) -> tuple[tuple[str, ...], Iterator[list[str]]]:
    """Split a CSV file into its header and its rows; blank lines are skipped.

    Returns:
        The column names exactly as written, and the rows as they are parsed: iterating them raises InvalidSubmission
        (unparsable) at the first ragged row or broken quote.

    Raises:
        InvalidSubmission: empty, undecodable, or unparsable (broken or repeated column names).
    """
    _check_text(data)
    rows = _rows(data)
    header = tuple(next(rows))
    named = [name for name in header if name.strip()]
    if len(set(named)) < len(named):
        raise InvalidSubmission(GradeError.UNPARSABLE, "two columns have the same name")
    return header, _same_width(rows, len(header))


def _check_text(data: bytes) -> None:
    if b"\0" in data:
        raise InvalidSubmission(GradeError.UNDECODABLE, "the file is not UTF-8 text: it holds NUL bytes")
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise InvalidSubmission(GradeError.UNDECODABLE, "the file is a zip archive, not CSV")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise InvalidSubmission(GradeError.UNDECODABLE, f"the file is not UTF-8 text ({where})") from error
    if not text or text.isspace():
        raise InvalidSubmission(GradeError.EMPTY, "the file is empty")


def _rows(data: bytes) -> Iterator[list[str]]:
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        bounded = lines if len(data) <= MAX_LINE else _short_lines(lines)
        yield from (row for row in csv.reader(bounded, strict=True) if row)
    except csv.Error as error:
        raise InvalidSubmission(GradeError.UNPARSABLE, f"not a CSV file: {error}") from error


def _short_lines(lines: io.TextIOWrapper) -> Iterator[str]:
    while line := lines.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise InvalidSubmission(GradeError.UNPARSABLE, f"a line is longer than {MAX_LINE} characters")
        yield line


def _same_width(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InvalidSubmission(GradeError.UNPARSABLE, f"row {number} has {len(row)} cells, the header has {width}")
        yield row
