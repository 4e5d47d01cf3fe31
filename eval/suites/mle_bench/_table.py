"""The table of all 82 competitions: facts of their formats, checked against the graders of MLE-bench.

Columns of ``competitions.tsv``; lists are separated by ``|``:

    id, split, modality, problem   what the competition is
    metric                         the one of ours that gives its score; empty: only the original grader can
    id_column, columns             of a submission; without ``columns``, all but the id column of the sample submission
    classes                        the labels, where they are not those of the answers
    sums_to_one                    the class probabilities of a row must sum to 1
    note                           where the original differs, or what is odd about the data
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from sandmle.task import Modality, ProblemType

__all__ = ["Competition", "competitions"]


@dataclass(frozen=True)
class Competition:
    """One row of the table."""

    id: str
    split: str
    modality: Modality
    problem: ProblemType
    metric: str
    id_column: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    sums_to_one: bool
    note: str


@cache
def competitions() -> Mapping[str, Competition]:
    """All competitions by their ids."""
    text = files("sandmle.eval.suites.mle_bench").joinpath("competitions.tsv").read_text(encoding="utf-8")
    return {row["id"]: _competition(row) for row in csv.DictReader(text.splitlines(), delimiter="\t")}


def _competition(row: Mapping[str, str]) -> Competition:
    return Competition(
        id=row["id"],
        split=row["split"],
        modality=cast("Modality", row["modality"]),
        problem=cast("ProblemType", row["problem"]),
        metric=row["metric"],
        id_column=row["id_column"],
        columns=_list(row["columns"]),
        classes=_list(row["classes"]),
        sums_to_one=row["sums_to_one"] == "yes",
        note=row["note"],
    )


def _list(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("|")) if cell else ()
