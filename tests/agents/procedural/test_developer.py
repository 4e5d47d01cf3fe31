"""Retuning: which knob is turned, and how far, for measured scores."""

from __future__ import annotations

import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.developer import retune
from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance.calibration import Calibration, Step


def calibration(generic: float, informed: float, *, first: float = 9.0, second: float = 9.0) -> Calibration:
    """Scores as headrooms, with the z of both steps."""
    steps = tuple(
        Step(lower=lower, upper=upper, difference=1.0, sd=0.1, p=1.0 if z > 2 else 0.6, z=z, resamples=500)
        for lower, upper, z in (("dummy", "blend", first), ("blend", "informed", second))
    )
    return Calibration(
        metric="roc_auc",
        lower_is_better=False,
        sign=1.0,
        rungs={},
        best_generic="blend",
        dummy=0.0,
        generic=generic,
        informed=informed,
        bayes=1.0,
        steps=(steps[0], steps[1]),
        thresholds=None,
    )


def turned(plan: TaskPlan, found: Calibration) -> tuple[float, float]:
    """Change of the mean easy share, and of the noise as a factor."""
    before, after = Blueprint.of(plan).rule, Blueprint.of(retune(plan, found)).rule
    shares = [sum(signal.easy_share for signal in rule.signals) / len(rule.signals) for rule in (before, after)]
    assert after.structure() == before.structure()
    return shares[1] - shares[0], after.noise / before.noise


@pytest.fixture
def plan(plans: list[TaskPlan]) -> TaskPlan:
    """One whose easy share has room on both sides."""
    return next(plan for plan in plans if 0.45 < Blueprint.of(plan).rule.signals[0].easy_share < 0.6)


def test_an_informed_rung_that_drowns_in_noise_gets_less_of_it(plan: TaskPlan) -> None:
    _, little = turned(plan, calibration(0.4, 0.67))
    _, much = turned(plan, calibration(0.1, 0.3))
    assert 0.5 <= much < little < 1


def test_a_generic_rung_that_finds_too_much_gets_a_smaller_easy_share(plan: TaskPlan) -> None:
    share, noise = turned(plan, calibration(0.9, 0.97))
    assert share <= -0.08
    assert noise == 1


def test_the_step_grows_with_what_is_missing(plan: TaskPlan) -> None:
    near, _ = turned(plan, calibration(0.7, 0.85, second=2.8))
    far, _ = turned(plan, calibration(0.7, 0.75, second=1.0))
    assert far < near < 0


def test_a_generic_rung_that_finds_nothing_gets_a_larger_easy_share(plan: TaskPlan) -> None:
    share, _ = turned(plan, calibration(0.05, 0.9, first=1.0))
    assert share >= 0.08
