"""Experiments: arms that are declared beforehand in one file, trained alike and compared on held-out tasks.

    file ─▶ tasks ─▶ sets (training, and three held-out ones) ─▶ demonstrations ─▶ for each seed: arms ─▶ table, curves

Vocabulary:
    arm         one way to get a policy, or one way to ask it; measured on every held-out task
    control     an arm that shows what else could explain a gain
    set         held-out tasks by what is new in them: ``same`` (nothing but the task), ``other`` (seed families that
                training never saw), ``unseen`` (pairs of kinds of rule terms that no training task holds)
    constant    one script for all tasks; a task on which one reaches gold is not used
    baseline    the arm that all others are compared with

OUT/made/                      tasks as they were made
OUT/constants.jsonl            what the constant scripts earned on each
OUT/sets/NAME/                 the tasks of each set
OUT/demonstrations/            a run of ``sandmle eval``
OUT/seed-N/imitation/          what all arms of a seed start from; OUT/seed-N/ARM/ the training of an arm of its own
                               (see ``sandmle.rl.trainer``), each with results-*.jsonl
OUT/spent.json                 CPU and wall seconds so far
OUT/report.{json,md}           the table; OUT/curves.png

Whatever is finished is kept; the same command goes on. Results tell which weights they are of: a policy that was
trained further is measured anew. This package loads without PyTorch; ``running`` does not.
"""

from sandmle.rl.experiments._settings import (
    ArmSettings,
    ExperimentSettings,
    MatchSettings,
    TaskSettings,
    bundled_experiments,
)

__all__ = ["ArmSettings", "ExperimentSettings", "MatchSettings", "TaskSettings", "bundled_experiments"]
