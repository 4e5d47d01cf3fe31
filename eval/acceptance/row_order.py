"""Does the place of a row, in train or in test, tell of its target?"""

from __future__ import annotations

import numpy as np

from sandmle.eval.acceptance._context import label_blocks, label_outcome
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import association, conclude, place_features
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["row_order"]

SENTENCES = {
    "train_order": "the order of the training rows tells of the target",
    "test_order": "the order of the test rows tells of the hidden target",
}


@probe("row_order", stage=4)
def row_order(evidence: Evidence, calibration: Calibration) -> Finding:
    """Labels are independent of the row number, of its parity and of the label of the row before."""
    outcome, blocks = label_outcome(evidence), label_blocks(evidence, apart=False)
    draw = evidence.generator("row_order")
    in_train = np.arange(len(outcome)) < len(evidence.train)
    tests = {
        name: association(place_features(int(rows.sum())), outcome[rows], blocks[rows], draw, neighbours=True)
        for name, rows in (("train_order", in_train), ("test_order", ~in_train))
    }
    return conclude(tests, SENTENCES)
