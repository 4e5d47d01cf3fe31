"""The grader's verdict on one submission, as a record."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from sandmle.record import VersionedRecord
from sandmle.task import Thresholds, Tier

__all__ = ["GradeError", "GradeReport", "Medal"]

Medal = Literal["bronze", "silver", "gold"]


class GradeError(StrEnum):
    """Why a submission has no score: the closed list."""

    MISSING = "missing"
    NOT_REGULAR = "not_regular"
    TOO_LARGE = "too_large"
    UNDECODABLE = "undecodable"
    UNPARSABLE = "unparsable"
    EMPTY = "empty"
    HEADER_ONLY = "header_only"
    MISSING_COLUMN = "missing_column"
    COLUMN_CASE = "column_case"
    MISSING_ROWS = "missing_rows"
    EXTRA_ROWS = "extra_rows"
    DUPLICATE_IDS = "duplicate_ids"
    NOT_NUMERIC = "not_numeric"
    NON_FINITE = "non_finite"
    OUT_OF_DOMAIN = "out_of_domain"
    METRIC_UNDEFINED = "metric_undefined"


class GradeReport(VersionedRecord):
    """Score or error of one submission.

    Attributes:
        score: on the Private rows, unrounded; None if the submission is invalid.
        public_score: on the Public rows; None if invalid, or where there are none or the metric is undefined on them.
        error: the code of the first fault, None if valid; ``detail`` says it in words that reveal no label.
        medal: inclusive of its threshold and exclusive of the others; None where none is earned or none is defined.
        above_median: strictly better than the median threshold.
        reached: the tiers reached, inclusive: what rewards count.
        human_rank: mean share of the teams that the score meets or beats on the public and private board, in [0, 1];
            None without boards.
    """

    task_id: str
    metric: str
    lower_is_better: bool
    score: float | None = None
    public_score: float | None = None
    error: GradeError | None = None
    detail: str = ""
    thresholds: Thresholds | None = None
    medal: Medal | None = None
    above_median: bool = False
    reached: tuple[Tier, ...] = ()
    human_rank: float | None = None

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        if (self.score is None) == (self.error is None):
            raise ValueError("a grade has either a score or an error")
        return self

    @property
    def valid(self) -> bool:
        """Whether the submission could be scored."""
        return self.error is None
