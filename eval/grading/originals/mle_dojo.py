"""Grades one submission with the metric of an MLE-Dojo competition.

    private/test_answer.csv                                           the hidden answers
    private/code/mledojo/competitions/<competition>/utils/metric.py   the metric, out of a checkout; and its base class

A metric is the class below ``mledojo.metrics.base.CompetitionMetrics`` that a competition's ``metric.py`` defines. As
in MLE-Dojo, pandas reads both tables, ``validate_submission`` refuses by raising, and ``evaluate`` then scores.
Anything that goes wrong before the submission is opened is a problem of the installation, and so is what the
machine lacks while it grades.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import inspect
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
        import pandas as pd

        metric = load_metric(Path(request["private"]) / "code", request["competition"])
        truth = pd.read_csv(Path(request["private"]) / "test_answer.csv")
    except Exception as error:  # noqa: BLE001 - whatever it is, the submission is not to blame
        return {"problem": told(error)}
    try:
        table = pd.read_csv(request["submission"])
    except pd.errors.EmptyDataError as error:
        return {"error": "empty", "detail": told(error)}
    except UnicodeDecodeError as error:
        return {"error": "undecodable", "detail": told(error)}
    except Exception as error:  # noqa: BLE001 - pandas raises all kinds of errors on files that are no CSV
        return {"error": "unparsable", "detail": told(error)}
    return scored(metric, table, truth)


def load_metric(code: Path, competition: str) -> Any:  # noqa: ANN401 - a class of the checkout
    """An instance of the metric of ``competition``; ``code`` holds the package ``mledojo``."""
    sys.path.insert(0, str(code))
    from mledojo.metrics.base import CompetitionMetrics

    path = code / "mledojo" / "competitions" / competition / "utils" / "metric.py"
    spec = importlib.util.spec_from_file_location("competition_metric", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [found for _, found in inspect.getmembers(module, inspect.isclass)]
    mine = [found for found in classes if issubclass(found, CompetitionMetrics) and found is not CompetitionMetrics]
    return mine[0]()


def scored(metric: Any, table: Any, truth: Any) -> Verdict:  # noqa: ANN401 - a metric and two data frames
    """The score, or why there is none."""
    n_truth, wanted = len(truth), set(truth.columns)
    try:
        metric.validate_submission(table, truth)
    except Exception as error:  # noqa: BLE001 - MLE-Dojo takes any exception for a refusal
        return lacks(error) or {"error": fault(table, n_truth, wanted), "detail": told(error)}
    try:
        score = float(metric.evaluate(truth, table))
    except Exception as error:  # noqa: BLE001 - likewise
        return lacks(error) or {"error": "metric_undefined", "detail": told(error)}
    if not math.isfinite(score):
        return {"error": "non_finite", "detail": f"the score is {score}"}
    return {"score": score}


def lacks(error: Exception) -> Verdict:
    """The verdict where what the machine lacks is to blame; else empty."""
    lacking = isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in FULL)
    return {"problem": told(error)} if lacking else {}


def fault(table: Any, n_truth: int, wanted: set[str]) -> str:  # noqa: ANN401 - a data frame
    """The code of ours that comes nearest to why a table was refused."""
    if not len(table):
        return "header_only"
    if wanted - set(table.columns):
        return "missing_column"
    if len(table) != n_truth:
        return "missing_rows" if len(table) < n_truth else "extra_rows"
    return "out_of_domain"


def told(error: Exception) -> str:
    """An exception in one line of bounded length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        verdict = judge(json.load(sys.stdin))
    print(json.dumps(verdict))
