"""A board for tasks that never were a competition: ten scores made of a task's thresholds and its dummy's score."""

from __future__ import annotations

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.acceptance._measured import DUMMY, Baselines
from sandmle.eval.acceptance.calibration import Calibration
from sandmle.task import Task

__all__ = ["stand_in_board"]

DUMMIES = 4


def stand_in_board(task: Task) -> tuple[float, ...]:
    """Ten scores, best first: gold, silver, two bronze, two median, four of the dummy baseline.

    By the rule for fewer than 100 teams it gives the thresholds back: row 1 is gold, row 2 silver, row 4 bronze, and
    the median of all is the median threshold.

    Raises:
        BadInput: the task has no thresholds, or the record of its baselines is missing or broken.
    """
    thresholds = task.manifest.thresholds
    if thresholds is None:
        raise BadInput(f"{task.root}: it has no thresholds, so no board can stand in for a competition's")
    upper = (thresholds.gold, thresholds.silver, *[thresholds.bronze] * 2, *[thresholds.median] * 2)
    return (*upper, *[_dummy_score(task)] * DUMMIES)


def _dummy_score(task: Task) -> float:
    synthetic, real = (task.provenance / name for name in ("calibration.json", "baselines.json"))
    if real.exists() and not synthetic.exists():
        return float(np.mean(Baselines.read(real).measured.scores[DUMMY]))
    if not synthetic.exists():
        raise BadInput(f"{task.provenance}: it holds neither calibration.json nor baselines.json, which know the dummy")
    calibration = Calibration.read(synthetic)
    return calibration.sign * calibration.dummy
