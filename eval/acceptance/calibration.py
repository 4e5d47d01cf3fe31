"""What the ladder of baselines says about a task: its scores, how separable they are, and the thresholds.

All comparisons are made on the Private rows, on the mean of the training redraws, with better as larger. A step of the
ladder (dummy to best generic, best generic to informed) is judged by a paired bootstrap over test rows, or over whole
groups where rows are ranked by group: ``P`` is the share of resamples in which the upper rung wins and ``z`` the
observed difference over its bootstrap standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sandmle.eval.acceptance._bootstrap import resampled_scores
from sandmle.eval.acceptance._criteria import BRONZE_GAP, GOLD_GAP, MEDIAN_GAP, MIN_P, MIN_Z, SILVER_GAP
from sandmle.eval.acceptance._evidence import DUMMY, INFORMED, Evidence
from sandmle.eval.acceptance._one_thread import one_thread
from sandmle.eval.metrics import Array, MetricUndefined
from sandmle.record import Record, VersionedRecord
from sandmle.task import TIERS, Thresholds

__all__ = ["Calibration", "Rung", "Step", "calibrate", "place_thresholds"]

RESAMPLES = 250
SIGNIFICANT_DIGITS = 6
Z_LIMIT = 1e6


class Rung(Record):
    """The scores of one baseline, in the metric's own units.

    Attributes:
        private: one score per redraw on the Private rows; ``mean`` is their mean.
        public: the same on the Public rows; None where the metric is undefined on them.
        headroom: ``(x - d) / (b - d)`` of the mean; None where the Bayes score does not beat the dummy's.
    """

    private: tuple[float, ...]
    mean: float
    public: tuple[float | None, ...]
    headroom: float | None


class Step(Record):
    """One step of the ladder, from ``lower`` to ``upper``.

    Attributes:
        difference: better is larger; ``sd`` its bootstrap standard deviation (0 if no resample could be scored).
        p: share of resamples in which ``upper`` is strictly better, in [0, 1].
        z: ``difference / sd``, within [-1e6, 1e6].
        resamples: how many resamples had a defined metric.
    """

    lower: str
    upper: str
    difference: float
    sd: float
    p: float
    z: float
    resamples: int

    @property
    def separable(self) -> bool:
        """Whether the upper rung is better beyond doubt: difference > 0, P >= 0.95 and z >= 3."""
        return self.difference > 0 and self.p >= MIN_P and self.z >= MIN_Z


class Calibration(VersionedRecord):
    """``calibration.json``: all baseline scores, the two steps of the ladder, and the thresholds.

    Attributes:
        sign: 1, or -1 where lower scores are better; ``dummy``, ``generic``, ``informed`` and ``bayes`` are already
            multiplied by it, so larger is better.
        best_generic: the generic rung with the best mean.
        rungs: scores of every rung by name.
        steps: dummy to best generic, best generic to informed.
        thresholds: in the metric's own units, 6 significant digits; None where they would not rise strictly.
        problem: why the ladder is unusable, with the measured scores, for whoever wrote the baselines; empty if fine.
    """

    metric: str
    lower_is_better: bool
    sign: float
    rungs: dict[str, Rung]
    best_generic: str
    dummy: float
    generic: float
    informed: float
    bayes: float
    steps: tuple[Step, Step]
    thresholds: Thresholds | None
    problem: str = ""

    def headroom(self, better: float) -> float | None:
        """Share of the way from dummy to Bayes that ``better`` (larger is better) covers; None if there is no way."""
        return _headroom(better, self.dummy, self.bayes)


@one_thread
def calibrate(evidence: Evidence, resamples: int = RESAMPLES) -> Calibration:
    """Score every rung, test the steps of the ladder and place the thresholds.

    Raises:
        MetricUndefined: the metric has no value on the Private rows.
    """
    private = {name: tuple(evidence.score(run) for run in runs) for name, runs in evidence.predictions.items()}
    better = {name: evidence.sign * float(np.mean(scores)) for name, scores in private.items()}
    best = max(evidence.generic_rungs, key=lambda name: better[name])
    bayes = evidence.sign * evidence.score(evidence.bayes)
    steps = _bootstrap(evidence, (DUMMY, best, INFORMED), resamples)
    thresholds = place_thresholds(better[DUMMY], better[best], better[INFORMED], evidence.sign)
    return Calibration(
        metric=evidence.metric.name,
        lower_is_better=evidence.metric.lower_is_better,
        sign=evidence.sign,
        rungs={
            name: Rung(
                private=scores,
                mean=evidence.sign * better[name],
                public=tuple(_public_score(evidence, run) for run in evidence.predictions[name]),
                headroom=_headroom(better[name], better[DUMMY], bayes),
            )
            for name, scores in private.items()
        },
        best_generic=best,
        dummy=better[DUMMY],
        generic=better[best],
        informed=better[INFORMED],
        bayes=bayes,
        steps=steps,
        thresholds=thresholds,
        problem=_problem(steps, better, evidence.sign, thresholds),
    )


def place_thresholds(dummy: float, generic: float, informed: float, sign: float) -> Thresholds | None:
    """Thresholds by gap fractions (docs/design.md, section 8), rounded to 6 significant digits.

    Args:
        dummy: score of the dummy, as are ``generic`` and ``informed``, better as larger.
        generic: score of the best generic rung.
        informed: score of the informed rung.
        sign: 1, or -1 to return thresholds of a metric where lower is better.

    Returns:
        Thresholds in the metric's own units, or None where they would not rise strictly after rounding.
    """
    lower_gap, upper_gap = generic - dummy, informed - generic
    better = (
        dummy + MEDIAN_GAP * lower_gap,
        generic - BRONZE_GAP * lower_gap,
        generic + SILVER_GAP * upper_gap,
        generic + GOLD_GAP * upper_gap,
    )
    rounded = [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in better]
    if not (lower_gap > 0 and upper_gap > 0 and all(low < high for low, high in pairwise(rounded))):
        return None
    return Thresholds(**{tier.value: sign * value + 0.0 for tier, value in zip(TIERS, rounded, strict=True)})


def _public_score(evidence: Evidence, prediction: Array) -> float | None:
    try:
        return evidence.score(prediction, ~evidence.private)
    except MetricUndefined:
        return None


def _headroom(better: float, dummy: float, bayes: float) -> float | None:
    return (better - dummy) / (bayes - dummy) if bayes > dummy else None


def _bootstrap(evidence: Evidence, ladder: Sequence[str], resamples: int) -> tuple[Step, Step]:
    """Paired bootstrap of the mean score over redraws: every rung sees the same resampled units."""
    runs = [run for name in ladder for run in evidence.predictions[name]]
    observed, drawn = resampled_scores(evidence, runs, resamples, evidence.generator("calibration"))
    ends = np.cumsum([len(evidence.predictions[name]) for name in ladder])[:-1]
    means = [evidence.sign * rung.mean(axis=0) for rung in np.split(observed, ends)]
    table = [evidence.sign * rung.mean(axis=1) for rung in np.split(drawn, ends, axis=1)]
    first, second = (
        _step(ladder[k], ladder[k + 1], float(means[k + 1] - means[k]), table[k + 1] - table[k]) for k in (0, 1)
    )
    return first, second


def _step(lower: str, upper: str, difference: float, drawn: Array) -> Step:
    sd = float(drawn.std(ddof=1)) if len(drawn) > 1 else 0.0
    limit = Z_LIMIT * float(np.sign(difference))
    z = float(np.clip(difference / sd, -Z_LIMIT, Z_LIMIT)) if sd > 0 else limit
    p = float(np.mean(drawn > 0)) if len(drawn) else 0.0
    return Step(lower=lower, upper=upper, difference=difference, sd=sd, p=p, z=z, resamples=len(drawn))


def _problem(steps: Sequence[Step], better: dict[str, float], sign: float, thresholds: Thresholds | None) -> str:
    """The first step that fails, worst fault first, or that the thresholds coincide; empty if all is well."""
    for step in sorted(steps, key=lambda step: step.difference > 0):
        if not step.separable:
            fault = "does not beat" if step.difference <= 0 else "is not separable from"
            upper, lower = (f"{_label(name)} {sign * better[name]:.4g}" for name in (step.upper, step.lower))
            return f"{upper} {fault} {lower} (P={step.p:.2f}, z={step.z:.1f}; needed P>={MIN_P}, z>={MIN_Z:g})"
    if thresholds is None:
        scores = ", ".join(f"{_label(name)} {sign * score:.8g}" for name, score in better.items())
        return f"the scores lie so close that the thresholds coincide at {SIGNIFICANT_DIGITS} digits: {scores}"
    return ""


def _label(rung: str) -> str:
    return rung if rung in (DUMMY, INFORMED) else f"generic {rung}"
