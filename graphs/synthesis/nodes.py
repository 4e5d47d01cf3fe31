"""The nodes of the synthesis graph: four roles that write, three checks that run and judge, and two ways to end.

Every node may run twice (a killed run repeats the interrupted one), so each starts from what the state says and
replaces what it finds in the work folder. Files are touched in threads: a server's event loop never waits for a disk.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from sandmle.agents.roles import Feedback, Role
from sandmle.eval.acceptance import calibrate, judge
from sandmle.eval.grading import InvalidSubmission
from sandmle.eval.metrics import MetricUndefined
from sandmle.files import publish_folder
from sandmle.graphs.synthesis import trial, verification
from sandmle.graphs.synthesis.state import Rejection, Stage, SynthesisContext, SynthesisState
from sandmle.seeds import select_seeds

__all__ = [
    "data_strategist",
    "discard",
    "evaluator_check",
    "final_verification",
    "ml_developer",
    "mlops_engineer",
    "publish",
    "reject",
    "technical_writer",
    "threshold_check",
]

Update = dict[str, Any]
Context = Runtime[SynthesisContext]


async def data_strategist(state: SynthesisState, runtime: Context) -> Update:
    """Draw the slot's next candidate."""
    context = runtime.context
    await asyncio.to_thread(trial.clear, await _work(state, runtime))
    (seed,) = await asyncio.to_thread(select_seeds, [state.seed])
    candidate = state.slot * context.max_draws + state.draws
    plan = await context.workshop().team.strategist.plan(seed, candidate)
    return {"plan": plan, "draws": state.draws + 1, "attempts": {}, "problem": "", "calibration": None}


async def ml_developer(state: SynthesisState, runtime: Context) -> Update:
    """Write generator and baselines, or mend them."""
    developer = runtime.context.workshop().team.developer
    feedback = _feedback(state, "developer")
    work = await _work(state, runtime)
    plan = await developer.develop(state.planned(), work / "task", feedback)
    return {"plan": plan}


async def threshold_check(state: SynthesisState, runtime: Context) -> Update:
    """Run generator and baselines; are the scores in order, separable and with headroom left?"""
    plan, work = state.planned(), await _work(state, runtime)
    backend = runtime.context.workshop().backend
    runs, provenance = work / "runs", work / "task" / "provenance"
    await asyncio.to_thread(trial.clear, runs)
    problem = await trial.draw_data(backend, plan, provenance / "generate.py", runs)
    problem = problem or await trial.run_baselines(backend, plan, provenance / "baselines", runs)
    if problem:
        return {**_sent_back(state, runtime, "developer", "thresholds", problem), "calibration": None}
    try:
        evidence = await asyncio.to_thread(trial.load_evidence, plan, runs)
        calibration = await asyncio.to_thread(calibrate, evidence)
    except (InvalidSubmission, MetricUndefined) as fault:
        return {**_sent_back(state, runtime, "developer", "thresholds", str(fault)), "calibration": None}
    for name in ("order", "headroom"):
        verdict = judge(name, evidence, calibration)
        if not verdict.passed:
            update = _sent_back(state, runtime, "developer", "thresholds", f"{name}: {verdict.reason}")
            return {**update, "calibration": calibration}
    await asyncio.to_thread(verification.lay_out_data, runs, work / "task")
    return {"route": "onward", "problem": "", "calibration": calibration}


async def mlops_engineer(state: SynthesisState, runtime: Context) -> Update:
    """Write the evaluator, or mend it."""
    thresholds = state.calibrated().thresholds
    if thresholds is None:
        raise ValueError("a candidate without thresholds can't have an evaluator")
    engineer = runtime.context.workshop().team.engineer
    work = await _work(state, runtime)
    await engineer.write_evaluator(state.planned(), thresholds, work / "task", _feedback(state, "engineer"))
    return {}


async def evaluator_check(state: SynthesisState, runtime: Context) -> Update:
    """Does the evaluator agree with our grader on good, random and bad submissions?"""
    work = await _work(state, runtime)
    verdict = await verification.check_evaluator(
        runtime.context.workshop().backend, state.planned(), state.calibrated(), work / "runs", work / "task"
    )
    if not verdict.passed:
        return _sent_back(state, runtime, "engineer", "evaluator", verdict.reason)
    return {"route": "onward", "problem": ""}


async def technical_writer(state: SynthesisState, runtime: Context) -> Update:
    """Write the brief, or mend it."""
    writer = runtime.context.workshop().team.writer
    work = await _work(state, runtime)
    await writer.write_brief(state.planned(), work / "task", _feedback(state, "writer"))
    return {}


async def final_verification(state: SynthesisState, runtime: Context) -> Update:
    """Is the brief right, and the whole task acceptable? Then write its manifest."""
    plan, work, calibration = state.planned(), await _work(state, runtime), state.calibrated()
    task, runs = work / "task", work / "runs"
    brief = await asyncio.to_thread(verification.check_brief_of, plan, task)
    if not brief.passed:
        return _sent_back(state, runtime, "writer", "brief", brief.reason)
    acceptance = await asyncio.to_thread(verification.accept_candidate, plan, calibration, runs)
    if not acceptance.passed:
        return {"route": "reject", "problem": acceptance.reason, "stage": "verification"}
    lineage = await asyncio.to_thread(verification.lineage_of, plan, state.seed, runtime.context)
    await asyncio.to_thread(verification.write_records, plan, lineage, calibration, acceptance, task)
    return {"route": "onward", "problem": ""}


async def reject(state: SynthesisState, runtime: Context) -> Update:
    """Give the candidate up and say why."""
    rejection = Rejection(candidate=state.planned().candidate, stage=state.stage, reason=state.problem)
    return {"rejections": [*state.rejections, rejection]}


async def publish(state: SynthesisState, runtime: Context) -> Update:
    """Move the finished task to its public place, after all lower slots."""
    plan, order = state.planned(), runtime.context.workshop().order
    if order is not None:
        await order.turn(state.slot)
    await asyncio.to_thread(_publish, await _work(state, runtime), plan.task_id)
    return {"outcome": "published", "task_id": plan.task_id}


async def discard(state: SynthesisState, runtime: Context) -> Update:
    """Give the slot up: its draws are used."""
    await asyncio.to_thread(shutil.rmtree, await _work(state, runtime), ignore_errors=True)
    return {"outcome": "discarded"}


async def _work(state: SynthesisState, runtime: Context) -> Path:
    return await asyncio.to_thread(runtime.context.work, state.slot)


def _publish(work: Path, task_id: str) -> None:
    """Move the task to its public place, unless that was done before the run was killed."""
    target = work.parents[2] / task_id
    if (work / "task").exists() or not (target / "task.json").exists():
        publish_folder(work / "task", target)
    shutil.rmtree(work, ignore_errors=True)


def _feedback(state: SynthesisState, role: Role) -> Feedback | None:
    """What the role is told; None on its first attempt."""
    attempt = state.attempts.get(role, 0)
    return Feedback(attempt=attempt, problem=state.problem, calibration=state.calibration) if attempt else None


def _sent_back(state: SynthesisState, runtime: Context, role: Role, stage: Stage, problem: str) -> Update:
    """Back to the role, or rejected when its attempts are used."""
    used = state.attempts.get(role, 0)
    if used >= runtime.context.max_attempts:
        return {"route": "reject", "problem": problem, "stage": stage}
    return {"route": "retry", "problem": problem, "stage": stage, "attempts": {**state.attempts, role: used + 1}}
