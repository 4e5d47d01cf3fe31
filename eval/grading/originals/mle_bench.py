"""Grades one submission with MLE-bench's own code: its registry, its readers and the competition's grade function.

A submission that MLE-bench can't read, refuses or crashes on is invalid, as it is there. Anything that goes wrong
before the submission is opened is a problem of the installation, and so is what the
machine lacks while it grades.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import sys
from pathlib import Path
from typing import Any

Verdict = dict[str, Any]
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
"""Errors of a machine without room. That memory runs out, or a file is missing, a submission can bring about."""


def judge(request: dict[str, str]) -> Verdict:
    """The verdict on one submission."""
    try:
        competition, answers = load(request)
    except Exception as error:  # noqa: BLE001 - whatever it is, the submission is not to blame
        return {"problem": told(error)}
    from mlebench.utils import read_csv

    try:
        table = read_csv(request["submission"])
    except Exception as error:  # noqa: BLE001 - MLE-bench itself crashes here
        return {"error": "unparsable", "detail": told(error)}
    n_answers, columns = len(answers), set(read_csv(competition.sample_submission, nrows=0).columns)
    try:
        score = float(competition.grader.grade_fn(table, answers))
    except Exception as error:  # noqa: BLE001 - MLE-bench takes any exception for an invalid submission
        return lacks(error) or {"error": fault(table, n_answers, columns), "detail": told(error)}
    if not math.isfinite(score):
        return {"error": "non_finite", "detail": f"the score is {score}"}
    return {"score": score}


def load(request: dict[str, str]) -> tuple[Any, Any]:
    """The competition, with its hidden answers, from a data folder of links."""
    from mlebench.registry import registry
    from mlebench.utils import load_answers

    prepared = Path("data", request["competition"], "prepared")
    prepared.mkdir(parents=True)
    for name in ("public", "private"):
        (prepared / name).symlink_to(request[name])
    competition = registry.set_data_dir(Path("data")).get_competition(request["competition"])
    return competition, load_answers(competition.answers)


def lacks(error: Exception) -> Verdict:
    """The verdict where what the machine lacks is to blame; else empty."""
    lacking = isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in FULL)
    return {"problem": told(error)} if lacking else {}


def fault(table: Any, n_answers: int, columns: set[str]) -> str:  # noqa: ANN401 - a data frame
    """The code of ours that comes nearest to why a table was refused."""
    if not len(table):
        return "header_only" if len(table.columns) else "empty"
    if columns - set(table.columns):
        return "missing_column"
    if len(table) != n_answers:
        return "missing_rows" if len(table) < n_answers else "extra_rows"
    return "out_of_domain"


def told(error: Exception) -> str:
    """An exception in one line of bounded length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        verdict = judge(json.load(sys.stdin))
    print(json.dumps(verdict))
