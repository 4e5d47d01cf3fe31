"""Does the task leave room: enough for knowing the rule to pay, and not so much that knowing it does not help?"""

from __future__ import annotations

from sandmle.eval.acceptance._criteria import GENERIC_MAX_HEADROOM, INFORMED_MIN_HEADROOM, MIN_HEADROOM_GAP
from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["headroom"]


@probe("headroom", stage=2)
def headroom(evidence: Evidence, calibration: Calibration) -> Finding:
    """Informed >= 0.70 and generic <= 0.85 of the way from dummy to Bayes, and at least 0.08 apart."""
    sign, name = calibration.sign, calibration.best_generic
    dummy, bayes = sign * calibration.dummy, sign * calibration.bayes
    informed, generic = calibration.headroom(calibration.informed), calibration.headroom(calibration.generic)
    if informed is None or generic is None:
        reason = f"the Bayes score {bayes:.4g} does not beat the dummy's {dummy:.4g}: there is nothing to learn"
        return Finding(reason, {"dummy": dummy, "bayes": bayes}, passed=False)
    faults = [
        (informed < INFORMED_MIN_HEADROOM, f"informed covers {informed:.3f}, needed >= {INFORMED_MIN_HEADROOM}"),
        (generic > GENERIC_MAX_HEADROOM, f"generic {name} covers {generic:.3f}, allowed <= {GENERIC_MAX_HEADROOM}"),
        (
            informed - generic < MIN_HEADROOM_GAP,
            f"informed {informed:.3f} and generic {name} {generic:.3f} are less than {MIN_HEADROOM_GAP} apart",
        ),
    ]
    found = [text for failed, text in faults if failed]
    reason = f"of the headroom from dummy {dummy:.4g} to Bayes {bayes:.4g}: {'; '.join(found)}" if found else ""
    numbers = {"dummy": dummy, "bayes": bayes, "informed_headroom": informed, "generic_headroom": generic}
    return Finding(reason, numbers, passed=not found)
