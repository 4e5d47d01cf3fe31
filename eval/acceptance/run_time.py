"""Does every baseline finish within what an agent's step may take?

Seconds are of the processor, so that the verdict does not depend on how busy the machine was; none is recorded, because
a task folder holds no duration. What several rungs share (features, a model of the blend) is counted to the first that
needs it.
"""

from __future__ import annotations

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["run_time"]


@probe("run_time", stage=5)
def run_time(evidence: Evidence, calibration: Calibration) -> Finding:
    """No rung needs more CPU seconds than ``limits.step_seconds``."""
    limit = evidence.limits.step_seconds
    slow = [name for name, seconds in evidence.cpu_seconds.items() if not seconds <= limit]
    numbers = {"limit_seconds": limit, "measured": float(len(evidence.cpu_seconds)), "too_slow": float(len(slow))}
    if not evidence.cpu_seconds:
        return Finding("run times were not measured", numbers, passed=True)
    reason = f"the baseline(s) {', '.join(slow)} need more than {limit:g} CPU seconds" if slow else ""
    return Finding(reason, numbers, passed=not slow)
