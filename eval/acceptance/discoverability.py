"""Can the rule be found from what is public?

The search (``sandmle.eval.acceptance.search``, run in a sandbox) cross-validates up to 64 ideas from a library fixed
beforehand. Where it recovers less than a tenth of the gap from the best generic rung to the informed one, the task is
marked and kept out of training.
"""

from __future__ import annotations

import numpy as np

from sandmle.eval.acceptance._criteria import MIN_DISCOVERED_SHARE
from sandmle.eval.acceptance._evidence import INFORMED, Evidence
from sandmle.eval.acceptance._registry import Finding, probe
from sandmle.eval.acceptance.calibration import Calibration

__all__ = ["discoverability"]


@probe("discoverability", stage=6)
def discoverability(evidence: Evidence, calibration: Calibration) -> Finding:
    """Mark ``undiscoverable`` below a recovered share of 0.10; never fails, and marks nothing that was not searched.

    The ladder is measured on the redraws that the search ran on, which are the first ones.
    """
    runs = len(evidence.search)
    if runs == 0:
        return Finding("the search was not run", {}, passed=True)
    generic, informed = (
        evidence.sign * float(np.mean(calibration.rungs[rung].private[:runs]))
        for rung in (calibration.best_generic, INFORMED)
    )
    found = evidence.sign * float(np.mean([evidence.score(run) for run in evidence.search]))
    gap = informed - generic
    if gap <= 0:
        return Finding("no gap between the best generic rung and informed", {"gap": gap}, passed=True)
    share = (found - generic) / gap
    numbers = {"search": evidence.sign * found, "recovered_share": share, **_by_ideas(evidence)}
    if share >= MIN_DISCOVERED_SHARE:
        return Finding("", numbers, passed=True)
    reason = f"the public search recovers {share:.2f} of the gap to informed, needed {MIN_DISCOVERED_SHARE}"
    return Finding(reason, numbers, passed=True, marks="undiscoverable")


def _by_ideas(evidence: Evidence) -> dict[str, float]:
    """Mean score of the search by number of ideas, in the metric's own units."""
    return {
        f"search_{ideas}": float(np.mean([evidence.score(run) for run in runs]))
        for ideas, runs in sorted(evidence.searches.items())
    }
