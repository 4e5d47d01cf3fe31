"""Acceptance: is a synthetic task good? One file a probe, every verdict with its numbers."""

from sandmle.eval.acceptance._evidence import Evidence, Verdict
from sandmle.eval.acceptance.calibration import Calibration, calibrate

__all__ = ["Calibration", "Evidence", "Verdict", "calibrate"]
