"""``dataset.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from sandmle.record import Record, VersionedRecord
from sandmle.task import Modality, ProblemType, TaskFlag

__all__ = [
    "DIMENSIONS",
    "DatasetCard",
    "Dimension",
    "Funnel",
    "Group",
    "Quartiles",
    "ReadinessSummary",
    "TaskLine",
    "Third",
    "Variety",
]

Dimension = Literal["modality", "kind", "noise", "primitive", "domain", "metric"]
DIMENSIONS: tuple[Dimension, ...] = ("modality", "kind", "noise", "primitive", "domain", "metric")
DIGITS = 6


class Quartiles(Record):
    """Least value, quartiles and largest value of ``n`` numbers, rounded to 6 places."""

    n: int
    least: float
    lower: float
    median: float
    upper: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self | None:
        """The quartiles (linear interpolation) of the values; None of no values."""
        if not values:
            return None
        least, lower, median, upper, most = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).round(DIGITS).tolist()
        return cls(n=len(values), least=least, lower=lower, median=median, upper=upper, most=most)


class Group(Record):
    """The tasks kept and the candidates drawn with one value of a dimension; ``drawn`` is None where it is unknown."""

    name: str
    kept: int
    drawn: int | None


class Funnel(Record):
    """How far candidates came.

    Attributes:
        slots: settled slots of the batch; ``discarded`` those that gave no task.
        stages: candidates that came at least so far, in order; ``discoverable`` counts those of the published tasks.
        rejections: candidates given up, by ``stage: reason``, commonest first.
    """

    slots: int
    discarded: int
    stages: dict[str, int]
    rejections: dict[str, int]


class Third(Record):
    """Candidates with an estimated difficulty in ``(low, high]``; of the first third ``low`` itself too."""

    low: float
    high: float
    drawn: int
    kept: int


class Variety(Record):
    """Distinct values, and their effective number: the exponential of the Shannon entropy of their shares."""

    distinct: int
    effective: float


class ReadinessSummary(Record):
    """What ``DIR/readiness`` says of the tasks that it covers.

    Attributes:
        tasks: covered tasks; ``failed`` further ones whose scripts failed on a redraw.
        tests: redrawn hidden tests.
        order_share: adjacent pairs of the ladder in order, in [0, 1]; None where none was compared.
        tier_share: re-runs that landed in their intended tier; ``by_rung`` the same of each rung.
    """

    tasks: int
    failed: int
    tests: int
    order_share: float | None
    tier_share: float | None
    by_rung: dict[str, float]


class TaskLine(Record):
    """One task: ``noise`` is low, medium or high for its link, ``difficulty`` the rule's own estimate in [0, 1]."""

    id: str
    content_hash: str
    title: str
    modality: Modality
    kind: str
    problem_type: ProblemType
    metric: str
    domain: str
    seed_family: str
    noise: str
    primitives: tuple[str, ...]
    difficulty: float
    ideas_to_gold: int | None
    flags: tuple[TaskFlag, ...]


class DatasetCard(VersionedRecord):
    """All that the tasks and their making determine; neither clock, duration, host nor path.

    Attributes:
        content_hash: over the content hashes of all tasks.
        versions: what fixed the bytes, by library; several where tasks differ.
        settings: of the batch; empty where ``.sandmle`` is gone, as is ``funnel`` then None.
        groups: by dimension, the most kept first; levels of noise in their order.
        thirds: of difficulty; empty without a funnel.
        thresholds: where each tier stands on the way from dummy (0) to Bayes (1), and ``gap``, informed less generic.
        headroom: of every baseline, on the same scale.
        variety: of rule structures, schemas, domains and primitives; ``primitives_known`` how many kinds of term exist.
        nearest: similarity of each task to the most similar other one, in [0, 1].
        discoverable: tasks that are not marked ``undiscoverable``.
        ideas_to_gold: tasks by the fewest ideas with which the public search earned gold; ``none`` for none tried.
    """

    content_hash: str
    versions: dict[str, tuple[str, ...]]
    settings: dict[str, Any]
    seed_families: dict[str, int]
    funnel: Funnel | None
    groups: dict[Dimension, tuple[Group, ...]]
    thirds: tuple[Third, ...]
    thresholds: dict[str, Quartiles]
    headroom: dict[str, Quartiles]
    variety: dict[str, Variety]
    primitives_known: int
    nearest: Quartiles | None
    discoverable: int
    ideas_to_gold: dict[str, int]
    readiness: ReadinessSummary | None
    tasks: tuple[TaskLine, ...]
