"""What a task asks for: the problem, the law of its labels (the link of the rule), the metric and the submission.

    problem type                 link                    labels
    binary, multiclass           the same                one class of several
    multilabel                   the same                any subset of the labels
    ordinal                      the same                one of several ordered classes
    regression, forecasting      gaussian, lognormal     a number
    ranking                      relevance               0 to 3 within a group
    segmentation                 mask                    pixels
    seq2seq                      rewrite                 text

Which metric goes with a link is drawn; the metric says what a submission holds.
"""

from __future__ import annotations

from typing import Literal

from sandmle.eval.metrics import get_metric
from sandmle.record import Record
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import ProblemType, SubmissionFormat

__all__ = ["METRICS", "QUANTILES", "Link", "Problem", "link_of", "metrics_for"]

Link = Literal["binary", "multiclass", "multilabel", "ordinal", "gaussian", "lognormal", "relevance", "mask", "rewrite"]

METRICS: dict[Link, tuple[str, ...]] = {
    "binary": (
        "roc_auc",
        "log_loss",
        "average_precision",
        "brier",
        "gini",
        "accuracy",
        "macro_f1",
        "mcc",
        "f1",
        "balanced_accuracy",
    ),
    "multiclass": ("multiclass_log_loss", "macro_roc_auc", "accuracy", "macro_f1", "balanced_accuracy"),
    "multilabel": (
        "mean_column_auc",
        "mean_column_log_loss",
        "label_ranking_average_precision",
        "jaccard",
        "sample_f1",
        "micro_f1",
    ),
    "ordinal": ("quadratic_kappa", "ordinal_mae"),
    "gaussian": ("rmse", "mae", "r2", "spearman", "pearson", "concordance", "pinball_10", "pinball_90"),
    "lognormal": ("rmsle", "mae", "mape", "spearman", "concordance", "median_absolute_error", "pinball_90"),
    "relevance": ("ndcg_at_5", "ndcg_at_10"),
    "mask": ("dice", "iou"),
    "rewrite": ("exact_match", "edit_distance", "character_error_rate", "token_accuracy"),
}
"""The metrics that the team draws for each link, ours and the field's."""
QUANTILES = {"pinball_10": 0.1, "pinball_50": 0.5, "pinball_90": 0.9}
RANKED = {"map_at_3": 3, "map_at_5": 5}
MIN_CLASSES_TO_RANK = 4
WIDE_SPREAD = 0.25
"""Spread over center from which a normal law would give negative values."""


class Problem(Record):
    """One problem in one domain.

    Attributes:
        target: the column to predict; ``title``, ``question``, ``description`` are the words of the brief.
        labels: classes in order (a binary problem's negative one first); empty for other targets.
        center, spread: of a numeric target; ``unit`` its unit.
        group: the column of groups that are ranked, and the prefix of its values.
        mask_shape: (height, width) where pixels are asked for.
    """

    type: ProblemType
    link: Link
    metric: str
    target: str
    title: str
    question: str
    description: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    center: float = 0.0
    spread: float = 1.0
    group: tuple[str, str] | None = None
    mask_shape: tuple[int, int] | None = None

    def submission(self, id_column: str) -> SubmissionFormat:
        """What a submission must look like."""
        kind = get_metric(self.metric).prediction
        return SubmissionFormat(
            id_column=id_column,
            prediction_columns=self.labels if kind in COLUMN_PER_CLASS else (self.target,),
            kind=kind,
            classes=self.labels,
            group_column=self.group[0] if kind == "relevance" and self.group else None,
            top=RANKED[self.metric] if kind == "ranked_labels" else None,
            mask_shape=self.mask_shape if kind == "mask" else None,
        )


def link_of(problem: ProblemType, *, positive: bool, center: float, spread: float) -> Link:
    """The law of a problem's labels; numbers that can't be negative but spread widely are lognormal."""
    match problem:
        case "regression" | "forecasting":
            return "lognormal" if positive and spread / center >= WIDE_SPREAD else "gaussian"
        case "ranking":
            return "relevance"
        case "segmentation":
            return "mask"
        case "seq2seq":
            return "rewrite"
        case _:
            return problem


def metrics_for(link: Link, n_labels: int) -> tuple[str, ...]:
    """The metrics that suit a link; ranked labels need at least four classes."""
    ranked = tuple(RANKED) if link == "multiclass" and n_labels >= MIN_CLASSES_TO_RANK else ()
    return (*METRICS[link], *ranked[:1])
