"""Does an identifier tell of the target, or stand in train and in test?"""

from __future__ import annotations

from sandmle.eval.acceptance._context import id_features, label_blocks, label_outcome
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._nulls import association, conclude
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["identifiers"]


@probe("identifiers", stage=4)
def identifiers(evidence: Evidence, calibration: Calibration) -> Finding:
    """Number, order, length, parity and last digit of ids are independent of labels, and no id occurs twice."""
    features, outcome = id_features(evidence), label_outcome(evidence)
    blocks, draw = label_blocks(evidence, apart=True), evidence.generator("identifiers")
    test = association(features, outcome, blocks, draw, neighbours=False)
    found = conclude({"identifiers": test}, {"identifiers": "the identifier tells of the target"})
    name = evidence.submission.id_column
    shared = int(evidence.test[name].astype(str).isin(set(evidence.train[name].astype(str))).sum())
    faults = [f"{shared} identifiers stand in train and in test"] if shared else []
    reason = "; ".join([*([found.reason] if found.reason else []), *faults])
    return Finding(reason, {**found.numbers, "shared_identifiers": float(shared)}, passed=not reason)
