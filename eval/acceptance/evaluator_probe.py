"""Does a task's own ``evaluator.py`` agree with the grader, on valid submissions and on broken ones?

The caller runs the evaluator; this file supplies the submissions and compares what it printed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sandmle.eval.acceptance._evidence import Verdict
from sandmle.eval.acceptance._submissions import bad_cells, random_columns
from sandmle.grades import GradeError, GradeReport
from sandmle.task import TIERS, SubmissionFormat

__all__ = ["bad_submissions", "judge_evaluator", "random_submissions"]

TOLERANCE = 1e-12
MAX_QUOTE = 120
"""Characters of an output that a fault quotes."""
HUGE = 1e200
"""Its square is no float."""


def bad_submissions(sample: pd.DataFrame, submission: SubmissionFormat) -> dict[str, bytes]:
    """Submissions that no grader may score, as the bytes of a CSV file, by the name of their fault."""
    last, ids = submission.prediction_columns[-1], submission.id_column
    longer = pd.concat([sample, sample.tail(1).assign(**{ids: "no-such-row"})], ignore_index=True)
    cased = {name: name.swapcase() for name in (*submission.prediction_columns, ids) if name.swapcase() != name}
    frames = {
        "missing_column": sample.drop(columns=last),
        "duplicate_ids": pd.concat([sample, sample.head(1)], ignore_index=True),
        "missing_rows": sample.iloc[1:],
        "extra_rows": longer,
        "header_only": sample.head(0),
    }
    if cased:
        frames["column_case"] = sample.rename(columns=dict([next(iter(cased.items()))]))
    cells = {name: _with_first(sample, last, value) for name, value in bad_cells(submission).items()}
    return {name: _csv(frame) for name, frame in (frames | cells).items()} | _bad_bytes(_csv(sample), last)


def _bad_bytes(whole: bytes, column: str) -> dict[str, bytes]:
    """A sound file, broken below the level of its cells."""
    header, _, rows = whole.partition(b"\n")
    return {
        "empty": b"",
        "blank": b" \n\t\r\n",
        "spaced_header": header.replace(b",", b", ") + b"\n" + rows,
        "duplicate_header": header + b"," + column.encode() + b"\n" + rows.replace(b"\n", b",0\n"),
        "ragged": header + b"\n" + rows.replace(b"\n", b",0\n", 1),
        "nul": whole + b"\0",
        "latin_1": whole + b"\xe9,1\n",
        "open_quote": whole + b'"',
    }


def random_submissions(
    sample: pd.DataFrame,
    submission: SubmissionFormat,
    n: int,
    seed: int,
    domain: tuple[float, float] = (-np.inf, np.inf),
) -> list[bytes]:
    """``n`` readable submissions of random predictions, as the bytes of CSV files.

    Every other one has its rows shuffled. They take turns in all that a grader must accept: plain, with CRLF and a byte
    order mark, with further columns (two of them unnamed), with spaces and whole numbers as floats. One of numbers
    holds a number so large that some metrics overflow.

    Args:
        sample: the sample submission.
        submission: the format.
        n: how many.
        seed: of the generator.
        domain: closed interval of allowed numbers.
    """
    rng = np.random.default_rng(seed)
    found = []
    for index in range(n):
        frame = sample[[submission.id_column]].copy()
        values = random_columns(rng, sample, submission, domain)
        for name, column in zip(submission.prediction_columns, values, strict=True):
            frame[name] = column
        if submission.kind == "number" and index == 1:
            frame.loc[0, submission.prediction_columns[0]] = min(HUGE, domain[1])
        dress = DRESSES[index % len(DRESSES)]
        found.append(dress(frame.iloc[rng.permutation(len(frame))] if index % 2 else frame, submission.id_column))
    return found


def _plain(frame: pd.DataFrame, _: str) -> bytes:
    return _csv(frame)


def _from_windows(frame: pd.DataFrame, _: str) -> bytes:
    return b"\xef\xbb\xbf" + _csv(frame).replace(b"\n", b"\r\n")


def _with_more_columns(frame: pd.DataFrame, id_column: str) -> bytes:
    """Two unnamed columns in front, and one whose name differs from the id column's by a space."""
    lines = _csv(frame).splitlines()
    more = [b",," + lines[0] + b"," + id_column.encode() + b" "]
    more += [b"%d,x," % number + line + b",0" for number, line in enumerate(lines[1:])]
    return b"\n".join(more)


def _loosely_written(frame: pd.DataFrame, _: str) -> bytes:
    """Spaces around every cell, and ``7.0`` for ``7``."""
    spelled = frame.astype(str).map(lambda cell: f" {cell}.0 " if cell.isdecimal() else f" {cell} ")
    return _csv(spelled)


DRESSES = (_plain, _from_windows, _with_more_columns, _loosely_written)


def _with_first(sample: pd.DataFrame, column: str, value: object) -> pd.DataFrame:
    values = sample[column].astype(object).copy()
    values.iloc[0] = value
    return sample.assign(**{column: values})


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def judge_evaluator(expected: Sequence[GradeReport], printed: Sequence[str]) -> Verdict:
    """Compare what ``evaluator.py`` printed with the grader's reports of the same submissions, in the same order.

    For a valid submission it prints one JSON object whose score, direction and four thresholds are the grader's (to
    1e-12, relative above 1); for any other, one whose ``score`` is null and whose ``error`` is the grader's code.
    """
    if len(expected) != len(printed):
        raise ValueError(f"{len(expected)} reports but {len(printed)} outputs")
    worst, faults = 0.0, []
    for index, (report, text) in enumerate(zip(expected, printed, strict=True)):
        answer = _parse(text)
        if answer is None:
            faults.append(f"submission {index}: printed no JSON object but {_last_line(text)!r}")
        elif report.error is not None:
            faults += [f"submission {index} ({report.error}): {fault}" for fault in _bad_faults(report.error, answer)]
        else:
            differences = _differences(report, answer)
            worst = max([worst, *(gap for gap in differences.values() if np.isfinite(gap))])
            faults += [
                f"submission {index}: {name} is {answer.get(name)!r}, the grader says {_wanted(report)[name]!r}"
                for name, gap in differences.items()
                if not gap <= TOLERANCE
            ]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    numbers = {"compared": float(len(printed)), "worst_difference": worst, "faults": float(len(faults))}
    return Verdict(probe="evaluator", passed=not faults, reason=faults[0] + more if faults else "", numbers=numbers)


def _parse(text: str) -> Mapping[str, Any] | None:
    """The JSON object, without NaN and Infinity, which are not JSON; None if it is none."""
    try:
        answer = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _last_line(text: str) -> str:
    """The end of what was printed: of a traceback, the line that says what went wrong."""
    return (text.strip().splitlines() or [""])[-1][-MAX_QUOTE:]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _bad_faults(error: GradeError, answer: Mapping[str, Any]) -> list[str]:
    if "score" not in answer or answer["score"] is not None:
        return [f"score is {answer.get('score', 'absent')!r}, not null"]
    given = answer.get("error", "absent")
    return [] if given == error.value else [f"error is {given!r}, not {error.value!r}"]


def _wanted(report: GradeReport) -> dict[str, Any]:
    wanted: dict[str, Any] = {"score": report.score, "is_lower_better": report.lower_is_better}
    for tier in TIERS:
        wanted[f"{tier.value}_threshold"] = getattr(report.thresholds, tier.value) if report.thresholds else None
    return wanted


def _differences(report: GradeReport, answer: Mapping[str, Any]) -> dict[str, float]:
    """Difference of each key, relative above 1; infinite where absent or of another type."""
    found = {}
    for name, value in _wanted(report).items():
        given = answer.get(name)
        if name not in answer:
            found[name] = np.inf
        elif isinstance(value, float) and isinstance(given, (int, float)) and not isinstance(given, bool):
            found[name] = abs(given - value) / max(1.0, abs(value))
        else:
            found[name] = 0.0 if given is value else np.inf
    return found
