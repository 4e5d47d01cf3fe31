"""What is measured of one task, and what is told of all."""

from __future__ import annotations

from sandmle.record import Record, VersionedRecord

__all__ = ["Ceiling", "Comparison", "Estimate", "Range", "TaskScores", "ValidityReport"]


class TaskScores(VersionedRecord):
    """``scores/<arm>/<task>.json``: what the pipelines scored on one task.

    Attributes:
        content_hash: of the task that was measured.
        script_hash: of the script that all pipelines are.
        n_train: training rows.
        scores: by pipeline, in the metric's own units; None where it failed or its submission is invalid.
        cpu_s: CPU seconds by pipeline; what all share is in none of them.
    """

    task_id: str
    content_hash: str
    script_hash: str
    n_train: int
    metric: str
    lower_is_better: bool
    scores: dict[str, float | None]
    cpu_s: dict[str, float]


class Range(Record):
    """The middle 95 % of something."""

    low: float
    high: float


class Estimate(Record):
    """A rank correlation with its 95 % intervals.

    Attributes:
        over_tasks: for other tasks of the same sorts, with these pipelines; None where an arm has one task.
        over_pipelines: for other pipelines of the same sorts, on these tasks.
    """

    value: float
    over_tasks: Range | None
    over_pipelines: Range | None


class Comparison(Record):
    """Two arms compared.

    Attributes:
        name: what is compared; ``first`` and ``second`` say how many tasks each arm has.
        pipelines: those that count.
        spearman: rank correlation of the standings; ``kendall`` tau-b.
        standings: by pipeline, its standing in both arms.
    """

    name: str
    first: int
    second: int
    pipelines: tuple[str, ...]
    spearman: Estimate
    kendall: Estimate
    standings: dict[str, tuple[float, float]]


class Ceiling(Record):
    """Spearman's correlation between random halves of the real tasks: the mean over ways to halve, and their range."""

    mean: float
    over_halves: Range


class ValidityReport(VersionedRecord):
    """``validity.json``.

    Attributes:
        comparisons: each with all pipelines, then without the weak ones.
        ceiling: None with fewer than four real tasks.
        cpu_s: CPU seconds of all pipelines on all tasks.
        failed: runs without a valid submission, which rank last.
        tasks: ids by arm.
    """

    comparisons: tuple[Comparison, ...]
    ceiling: Ceiling | None
    cpu_s: float
    runs: int
    failed: int
    tasks: dict[str, tuple[str, ...]]
