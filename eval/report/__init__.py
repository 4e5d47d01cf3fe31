"""What a run showed: one table a scaffold and policy, with intervals, and its renderings.

    run folders -> summarize -> Report -> render_terminal | render_markdown | render_csv | render_svg
                                          | Report.to_text (JSON)
    two run folders -> compare;  many -> matrix

Vocabulary:
    masked        an episode left out of every mean because our infrastructure failed, never for what the agent did; but
                  the reward preset ``released`` also masks what ran into too many step limits
    interval      95 % percentile bootstrap that resamples whole tasks, so that repeats of one task count as one draw
    privileged    a policy that was handed the hidden rule: a calibration, not a measurement
    unit          of a task: what differences of its scores are measured in, see ``_scores``
"""

from sandmle.eval.report._compare import compare
from sandmle.eval.report._csv import render_csv
from sandmle.eval.report._markdown import render_markdown
from sandmle.eval.report._matrix import MATRIX_VALUES, Matrix, MatrixCell, MatrixValue, matrix
from sandmle.eval.report._picture import render_svg
from sandmle.eval.report._record import (
    Comparison,
    Cost,
    Difference,
    Estimate,
    RepeatStats,
    Report,
    Row,
    RunInfo,
    Scores,
    TurnPoint,
)
from sandmle.eval.report._statistics import clustered_mean, paired_difference
from sandmle.eval.report._summarize import summarize
from sandmle.eval.report._terminal import render_terminal

__all__ = [
    "MATRIX_VALUES",
    "Comparison",
    "Cost",
    "Difference",
    "Estimate",
    "Matrix",
    "MatrixCell",
    "MatrixValue",
    "RepeatStats",
    "Report",
    "Row",
    "RunInfo",
    "Scores",
    "TurnPoint",
    "clustered_mean",
    "compare",
    "matrix",
    "paired_difference",
    "render_csv",
    "render_markdown",
    "render_svg",
    "render_terminal",
    "summarize",
]
