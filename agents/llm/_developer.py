"""The ML Developer as a model: the generator and the ladder of baselines, and mending them.

Where the measured ladder is wrong, the two knobs of the rule (easy share and noise) are turned as for the procedural
developer, and the model gets the new constants with the scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from sandmle.agents.llm._asking import RolePlayer, written
from sandmle.agents.llm._plan_words import told_to_developer
from sandmle.agents.llm._reading import read_files
from sandmle.agents.procedural.developer import retune
from sandmle.agents.roles import Feedback, RoleFailure, TaskPlan
from sandmle.errors import SandmleError
from sandmle.files import write_text

__all__ = ["LlmDeveloper"]


class LlmDeveloper:
    """Asks for scripts; what comes back from a check goes to it with the scripts as they are."""

    def __init__(self, player: RolePlayer) -> None:
        self._player = player

    async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
        """Write the scripts, or those that the model chose to mend."""
        if feedback is not None and feedback.calibration is not None:
            plan = retune(plan, feedback.calibration)
        provenance = workdir / "provenance"
        wanted = ("generate.py", *(f"baselines/{rung}.py" for rung in plan.rungs))
        there = await asyncio.to_thread(_read_all, provenance, wanted)
        try:
            told = told_to_developer(plan)
        except SandmleError as error:
            raise RoleFailure(str(error)) from error
        mending = feedback is not None and len(there) == len(wanted)
        task = await written(
            "developer_task",
            **told,
            files=there if mending else {},
            problem=feedback.problem if feedback else "",
            scores=_scores(feedback),
        )
        found = await self._player.ask(
            task,
            lambda text: read_files(text, wanted, all_of_them=not mending),
            candidate=plan.candidate,
            attempt=feedback.attempt if feedback else 0,
        )
        await asyncio.to_thread(_write_all, provenance, {**(there if mending else {}), **found}, plan)
        return plan


def _scores(feedback: Feedback | None) -> str:
    """The measured ladder in words; empty where there is none."""
    if feedback is None or feedback.calibration is None:
        return ""
    calibration = feedback.calibration
    lines = [f"- {name}: {rung.mean:.5g}" for name, rung in calibration.rungs.items()]
    named = (("best generic", calibration.generic), ("informed", calibration.informed), ("Bayes", calibration.bayes))
    lines += [f"- {name}: headroom {calibration.headroom(score) or 0.0:.2f}" for name, score in named]
    return "\n".join(lines)


def _read_all(provenance: Path, wanted: tuple[str, ...]) -> dict[str, str]:
    return {name: (provenance / name).read_text("utf-8") for name in wanted if (provenance / name).exists()}


def _write_all(provenance: Path, files: Mapping[str, str], plan: TaskPlan) -> None:
    for name, text in files.items():
        write_text(provenance / name, text)
    write_text(provenance / "rule.json", plan.model_dump_json(indent=2) + "\n")
