"""Is the ladder in order, dummy < best generic < informed, and is each step beyond doubt?"""

from __future__ import annotations

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["order"]


@probe("order", stage=1)
def order(evidence: Evidence, calibration: Calibration) -> Finding:
    """Both steps have difference > 0, P >= 0.95 and z >= 3, and the thresholds rise strictly."""
    lower, upper = calibration.steps
    numbers = {
        "dummy": calibration.sign * calibration.dummy,
        "generic": calibration.sign * calibration.generic,
        "informed": calibration.sign * calibration.informed,
        "p_generic_over_dummy": lower.p,
        "z_generic_over_dummy": lower.z,
        "p_informed_over_generic": upper.p,
        "z_informed_over_generic": upper.z,
    }
    return Finding(calibration.problem, numbers, passed=not calibration.problem)
