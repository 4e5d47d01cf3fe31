"""The procedural ML Developer: writes the generator and the ladder of baselines, and mends a ladder that fails.

Two knobs mend a ladder: the share of the signal that is easy, and the noise. Which one to turn is read off the scores.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.procedural._render import facts, render_to
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import HiddenRule
from sandmle.agents.roles import BASELINE_RUNGS, Feedback, TaskPlan
from sandmle.eval.acceptance import GENERIC_MAX_HEADROOM, INFORMED_MIN_HEADROOM, Calibration

__all__ = ["ProceduralDeveloper"]

EASY_STEP = 0.12
NOISE_STEP = 0.75
EASY_RANGE = (0.15, 0.85)


class ProceduralDeveloper:
    """Renders scripts from templates."""

    async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
        """Write the scripts; with scores in the feedback, turn the knobs first."""
        if feedback is not None and feedback.calibration is not None:
            plan = _retune(plan, feedback.calibration)
        await asyncio.to_thread(_write_scripts, plan, workdir / "provenance")
        return plan


def _write_scripts(plan: TaskPlan, provenance: Path) -> None:
    inputs = facts(plan)
    render_to(provenance / "generate.py", "generate.py.j2", **inputs)
    for rung in BASELINE_RUNGS:
        render_to(provenance / "baselines" / f"{rung}.py", f"baselines/{rung}.py.j2", **inputs)
    (provenance / "rule.json").write_text(plan.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _retune(plan: TaskPlan, calibration: Calibration) -> TaskPlan:
    blueprint = Blueprint.of(plan)
    generic, informed = (calibration.headroom(score) or 0.0 for score in (calibration.generic, calibration.informed))
    rule = blueprint.rule
    if informed < INFORMED_MIN_HEADROOM:
        rule = rule.model_copy(update={"noise": round(rule.noise * NOISE_STEP, 4)})
    elif generic > GENERIC_MAX_HEADROOM or not calibration.steps[1].separable:
        rule = _shift_easy(rule, -EASY_STEP)
    elif not calibration.steps[0].separable:
        rule = _shift_easy(rule, EASY_STEP)
    else:
        rule = _shift_easy(rule, -EASY_STEP / 2)
    details = blueprint.model_copy(update={"rule": rule}).model_dump(mode="json")
    return plan.model_copy(update={"details": details})


def _shift_easy(rule: HiddenRule, step: float) -> HiddenRule:
    low, high = EASY_RANGE
    signals = tuple(
        signal.model_copy(update={"easy_share": round(min(max(signal.easy_share + step, low), high), 2)})
        for signal in rule.signals
    )
    return rule.model_copy(update={"signals": signals})
