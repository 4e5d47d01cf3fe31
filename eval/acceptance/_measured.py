"""What was measured of a real task, and the thresholds that follow from it."""

from __future__ import annotations

from typing import Final

import numpy as np

from sandmle.errors import SandmleError
from sandmle.eval.acceptance.calibration import place_thresholds
from sandmle.record import Record, VersionedRecord
from sandmle.task import Thresholds

__all__ = ["DUMMY", "GENERIC_SHARE", "REFERENCE", "Baselines", "Measured"]

DUMMY: Final = "dummy"
REFERENCE: Final = "tuned"
GENERIC_SHARE: Final = (0.1, 0.9)
"""Shares of the way from the dummy to the best score between which the generic score is held."""


class Measured(Record):
    """The baselines of one real task, really run.

    Attributes:
        data: hash of the data they ran on, ``RealTask.data_hash``.
        metric: how they were scored.
        scores: by rung, in the metric's own units on the Private rows; one for each seed where a rung draws.
        versions: of the libraries that they ran with.
    """

    data: str
    metric: str
    lower_is_better: bool
    scores: dict[str, tuple[float, ...]]
    versions: dict[str, str]

    def thresholds(self) -> Thresholds:
        """Thresholds by the gap fractions of synthetic tasks (docs/design.md, section 8).

        d is the dummy's score, g that of the best generic rung, r the reference's, each a mean over seeds and better as
        larger. The best of g and r stands for the informed score, and g for the generic one, but held between 10 and 90
        % of the way from d to the best: so thresholds rise strictly, and gold can be reached, also where the reference
        does not beat the ladder, or the ladder not the dummy.

        Raises:
            SandmleError: no rung beats the dummy.
        """
        sign = -1.0 if self.lower_is_better else 1.0
        better = {rung: sign * float(np.mean(scores)) for rung, scores in self.scores.items()}
        dummy, reference = better.pop(DUMMY), better.pop(REFERENCE)
        best = max(*better.values(), reference)
        least, most = (dummy + share * (best - dummy) for share in GENERIC_SHARE)
        generic = min(max(*better.values(), least), most)
        placed = place_thresholds(dummy, generic, best, sign)
        if placed is None:
            raise SandmleError(f"no baseline beats the dummy by a margin: {self.scores}")
        return placed


class Baselines(VersionedRecord):
    """``provenance/baselines.json`` of a real task: what was run, and what came of it.

    Attributes:
        runs: arguments of ``provenance/baselines.py``, by the name of the run.
    """

    runs: dict[str, tuple[str, ...]]
    measured: Measured
