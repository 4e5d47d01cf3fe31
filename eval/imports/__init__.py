"""Tasks of others, brought in: verified by running what they ship, never believed.

    bundle ──▶ quarantine ──▶ run its evaluator in a sandbox ──▶ recognise the metric ──▶ verify ──▶ a task of ours

Vocabulary:
    bundle       a folder of tasks in the SandMLE authors' released layout, or in that of ``sandmle export``
    quarantine   evaluator and answers, set apart in ``provenance/released``: no agent sees them, no process outside a
                 sandbox runs them
    printed      what the evaluator says of one submission: score, direction, four thresholds
    probe        a submission that the evaluator scores so that it can be compared with a metric of ours
    form         what the submissions and the answers could mean, see ``SubmissionFormat``
    recognised   the form and the metric of ours that give every probe the score that the evaluator prints

A bundle says nowhere what its metric is, and grading by foreign code would put it beside our own process for ever. So
the metric is recognised, and our grader grades; a task whose metric is none of ours is refused.
"""

from sandmle.eval.imports._bundle import find_bundles
from sandmle.eval.imports._check import check_imported
from sandmle.eval.imports._record import ImportRecord, ImportReport
from sandmle.eval.imports._released import import_released

__all__ = ["ImportRecord", "ImportReport", "check_imported", "find_bundles", "import_released"]
