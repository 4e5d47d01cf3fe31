"""``mle-bench``, ``mle-bench-lite`` and ``mle-bench-dev``: real competitions, from data that MLE-bench has prepared.

    DATA/<id>/prepared/{public,private} ──┐
                                          ├──▶ DATA_DIR/suites/<kind>/<task>/
    MLE_BENCH/mlebench/competitions/<id>/ ┘

``competitions.tsv`` says how our graders read each competition: its metric, the columns of a submission, the classes.
A competition without a metric there is graded by MLE-bench's own code alone (``--grader original``).
"""

from sandmle.eval.suites.mle_bench._kinds import MLE_BENCH_KINDS, MleBench
from sandmle.eval.suites.mle_bench._table import Competition, competitions

__all__ = ["MLE_BENCH_KINDS", "Competition", "MleBench", "competitions"]
