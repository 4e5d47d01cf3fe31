"""Validity: does a score on synthetic tasks predict one on real data?

    pipelines × synthetic tasks ──▶ ranks ─┐
                                           ├──▶ rank correlation, with intervals
    pipelines × real tasks ───────▶ ranks ─┘

    pipelines × rules at 200 rows ──▶ ranks ─┬──▶ the same for the same rules at 20,000 rows
    pipelines × rules at 20,000 rows ────────┘

Vocabulary:
    pipeline   a script over the public files, such as ridge regression or a forest; all read the files alike
    standing   a pipeline's mean over tasks of its rank within the task, from 0 (worst) to 1 (best)
    arm        one of the two sets of tasks whose standings are compared
    weak       a pipeline that is meant to be poor; comparisons are told with and without the weak ones
    ceiling    how well one half of the real tasks predicts the other half

Whatever comes out is told, also where it says that the score predicts nothing.
"""

from sandmle.eval.validity._compare import Arm, compare, self_consistency
from sandmle.eval.validity._markdown import markdown_report
from sandmle.eval.validity._record import Ceiling, Comparison, Estimate, Range, TaskScores, ValidityReport
from sandmle.eval.validity._study import Study, run_study
from sandmle.eval.validity.pipelines import PIPELINES, WEAK

__all__ = [
    "PIPELINES",
    "WEAK",
    "Arm",
    "Ceiling",
    "Comparison",
    "Estimate",
    "Range",
    "Study",
    "TaskScores",
    "ValidityReport",
    "compare",
    "markdown_report",
    "run_study",
    "self_consistency",
]
