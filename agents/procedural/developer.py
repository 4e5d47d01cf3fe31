"""The procedural ML Developer: writes the generator and the ladder of baselines, and mends a ladder that fails.

Two knobs mend a ladder: the share of the signal that is easy, and the noise. Which one to turn is read off the scores.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

from sandmle.agents.procedural._render import facts, render_to
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import AnyRule
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.eval.acceptance import GENERIC_MAX_HEADROOM, INFORMED_MIN_HEADROOM, Calibration

__all__ = ["ProceduralDeveloper", "retune"]

AIM_GENERIC, AIM_GAP, AIM_LOSS, AIM_Z = 0.3, 0.2, 0.2, 4.5
"""What a retuned ladder aims at: headrooms of the generic rung, the gap, what the informed one loses, and z."""
EASY_STEPS = (0.08, 0.3)
NOISE_STEPS = (0.5, 0.85)
MOST_HIDDEN = 0.7
"""Hidden share of the signal from which less noise is asked for too: the noise, not the share, hides the gap."""


class ProceduralDeveloper:
    """Renders scripts from templates."""

    async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
        """Write the scripts; with scores in the feedback, turn the knobs first."""
        if feedback is not None and feedback.calibration is not None:
            plan = retune(plan, feedback.calibration)
        await asyncio.to_thread(_write_scripts, plan, workdir / "provenance")
        return plan


def _write_scripts(plan: TaskPlan, provenance: Path) -> None:
    inputs = facts(plan)
    kind = inputs["kind_name"]
    render_to(provenance / "generate.py", f"kinds/{kind}/generate.py.j2", **inputs)
    for rung in plan.rungs:
        templates = (f"kinds/{kind}/{rung}.py.j2", f"baselines/{rung}.py.j2")
        render_to(provenance / "baselines" / f"{rung}.py", *templates, rung=rung, **inputs)
    (provenance / "rule.json").write_text(plan.model_dump_json(indent=2) + "\n", encoding="utf-8")


def retune(plan: TaskPlan, calibration: Calibration) -> TaskPlan:
    """Turn the knob that the scores call for, as far as they say.

    The gap between generic and informed grows in step with the hidden share of the signal, the generic headroom with
    the easy share, and what the informed baseline loses with the variance of the noise.
    """
    blueprint = Blueprint.of(plan)
    generic, informed = (calibration.headroom(score) or 0.0 for score in (calibration.generic, calibration.informed))
    first, second = calibration.steps
    rule = blueprint.rule
    hidden = 1.0 - _mean_easy_share(rule)
    gap = max(informed - generic, 0.0)
    if informed < INFORMED_MIN_HEADROOM:
        rule = rule.louder(_within(math.sqrt(AIM_LOSS / (1.0 - informed)), *NOISE_STEPS))
    if not first.separable or generic < AIM_GENERIC / 2:
        rule = rule.easier(_within((1.0 - hidden) * (AIM_Z / max(first.z, 1.0) - 1.0), *EASY_STEPS))
    elif not second.separable or gap < AIM_GAP / 2 or generic > GENERIC_MAX_HEADROOM:
        wanted = max(AIM_GAP, gap * AIM_Z / max(second.z, 1.0))
        rule = rule.easier(-_within(hidden * (wanted / max(gap, 0.02) - 1.0), *EASY_STEPS))
        if hidden > MOST_HIDDEN and informed >= INFORMED_MIN_HEADROOM:
            rule = rule.louder(NOISE_STEPS[1])
    elif informed >= INFORMED_MIN_HEADROOM:
        rule = rule.easier(-EASY_STEPS[0])
    details = blueprint.model_copy(update={"rule": rule}).model_dump(mode="json")
    return plan.model_copy(update={"details": details})


def _mean_easy_share(rule: AnyRule) -> float:
    shares = [signal.easy_share for signal in getattr(rule, "signals", ())]
    return sum(shares) / len(shares) if shares else 0.5


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
