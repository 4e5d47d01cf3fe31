"""The 60 competitions that the SandMLE paper starts from, as seeds: facts alone, neither text nor data.

They are MLE-bench's 82 entries less the 22 of its Lite split. ``competitions.tsv`` holds what a synthetic task inherits
from one: modality, type of problem and metric, the metric being the nearest of ours. ``seeds add-mlebench`` replaces
them by the entries of a checkout, which have their descriptions.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import cast

from sandmle.seeds._metrics import METRICS
from sandmle.seeds._record import Seed
from sandmle.task import Modality, ProblemType

__all__ = ["competition_seeds"]

NOTE = "modality, problem and metric are facts of the competition; the metric is the nearest that sandmle has"


@cache
def competition_seeds() -> tuple[Seed, ...]:
    """The seeds, in the order of their ids."""
    text = files("sandmle.seeds").joinpath("competitions.tsv").read_text(encoding="utf-8")
    return tuple(_seed(row) for row in csv.DictReader(text.splitlines(), delimiter="\t"))


def _seed(row: dict[str, str]) -> Seed:
    metric = METRICS[row["metric"]]
    return Seed(
        id=row["id"],
        family=row["family"],
        source="mlebench",
        title=row["id"],
        description="",
        modality=cast("Modality", row["modality"]),
        problem_type=cast("ProblemType", row["problem"]),
        metric=row["metric"],
        lower_is_better=metric.lower_is_better,
        prediction=metric.prediction,
        notes=(NOTE,),
    )
