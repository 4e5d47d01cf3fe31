"""The nodes of the synthesis graph: four roles that write, four checks that run and judge, and two ways to end.

Every node may run twice (a killed run repeats the interrupted one), so each starts from what the state says and
replaces what it finds in the work folder. Files are touched in threads: a server's event loop never waits for a disk.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from langgraph.runtime import Runtime

from sandmle.agents.roles import Feedback, Role, TaskPlan
from sandmle.eval.acceptance import Calibration, calibrate, judge
from sandmle.eval.grading import InvalidSubmission
from sandmle.eval.metrics import MetricUndefined
from sandmle.files import publish_folder
from sandmle.graphs.synthesis import trial, verification
from sandmle.graphs.synthesis.novelty import Fingerprint, NoveltyIndex, benchmark_overlap
from sandmle.graphs.synthesis.state import Rejection, Stage, SynthesisContext, SynthesisState
from sandmle.graphs.synthesis.traits import Traits, how_far
from sandmle.seeds import select_seeds

__all__ = [
    "data_strategist",
    "discard",
    "evaluator_check",
    "final_verification",
    "ml_developer",
    "mlops_engineer",
    "novelty_check",
    "publish",
    "reject",
    "technical_writer",
    "threshold_check",
]

P = ParamSpec("P")
T = TypeVar("T")
Update = dict[str, Any]
Context = Runtime[SynthesisContext]


async def data_strategist(state: SynthesisState, runtime: Context) -> Update:
    """Draw the slot's next candidate."""
    context = runtime.context
    await asyncio.to_thread(trial.clear, await _work(state, runtime))
    (seed,) = await asyncio.to_thread(select_seeds, [state.seed])
    candidate = state.slot * context.max_draws + state.draws
    plan = await context.workshop().team.strategist.plan(seed, candidate, state.modality)
    fresh: Update = {"attempts": {}, "problem": "", "calibration": None, "reached": "drawn", "discoverable": None}
    return {"plan": plan, "draws": state.draws + 1, "cpu_s": 0.0, "rung_cpu_s": {}, **fresh}


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
    ran = await trial.draw_data(backend, plan, provenance / "generate.py", runs)
    spent = state.cpu_s + ran.cpu_s
    if not ran.problem:
        ran = await trial.run_baselines(backend, plan, provenance / "baselines", runs)
        spent += ran.cpu_s
    if ran.problem:
        update = _sent_back(state, runtime, "developer", "thresholds", ran.problem)
        return {**update, "calibration": None, "cpu_s": spent, "rung_cpu_s": {}, "reached": "drawn"}
    (calibration, problem), used = await _metered(_judge_ladder, plan, runs)
    measured: Update = {"calibration": calibration, "cpu_s": spent + used, "rung_cpu_s": ran.rungs}
    measured["reached"] = how_far(calibration, separable=not problem) if calibration else "generated"
    if problem:
        return {**_sent_back(state, runtime, "developer", "thresholds", problem), **measured}
    searched = await trial.run_search(backend, plan, runs)
    measured["cpu_s"] += searched.cpu_s
    if searched.problem:
        return {"route": "reject", "problem": searched.problem, "stage": "verification", **measured}
    await asyncio.to_thread(verification.lay_out_data, runs, work / "task")
    return {"route": "onward", "problem": "", **measured}


def _judge_ladder(plan: TaskPlan, runs: Path) -> tuple[Calibration | None, str]:
    """The measured ladder, None where it can't be scored, and what is wrong with it."""
    try:
        evidence = trial.load_evidence(plan, runs)
        calibration = calibrate(evidence)
    except (InvalidSubmission, MetricUndefined) as fault:
        return None, str(fault)
    verdicts = [judge(name, evidence, calibration) for name in ("order", "headroom")]
    return calibration, next((f"{found.probe}: {found.reason}" for found in verdicts if not found.passed), "")


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
    verdict, used = await verification.check_evaluator(
        runtime.context.workshop().backend, state.planned(), state.calibrated(), work / "runs", work / "task"
    )
    spent: Update = {"cpu_s": state.cpu_s + used}
    if not verdict.passed:
        return {**_sent_back(state, runtime, "engineer", "evaluator", verdict.reason), **spent}
    return {"route": "onward", "problem": "", **spent}


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
    try:
        acceptance, used = await _metered(verification.accept_candidate, plan, calibration, runs)
    except (InvalidSubmission, MetricUndefined) as fault:
        return {"route": "reject", "problem": str(fault), "stage": "verification"}
    judged: Update = {"discoverable": "undiscoverable" not in acceptance.flags, "cpu_s": state.cpu_s + used}
    if not acceptance.passed:
        return {"route": "reject", "problem": acceptance.reason, "stage": "verification", **judged}
    lineage = await asyncio.to_thread(verification.lineage_of, plan, state.seed, runtime.context)
    await asyncio.to_thread(verification.write_records, plan, lineage, calibration, acceptance, task)
    return {"route": "onward", "problem": "", "reached": "leak_free", **judged}


async def novelty_check(state: SynthesisState, runtime: Context) -> Update:
    """After all lower slots: is the task unlike each of theirs, and unlike any benchmark's?"""
    workshop, plan = runtime.context.workshop(), state.planned()
    if workshop.order is not None:
        await workshop.order.turn(state.slot)
    problem = await asyncio.to_thread(_known_already, workshop.novelty, plan, await _work(state, runtime))
    if problem:
        return {"route": "reject", "problem": problem, "stage": "novelty"}
    return {"route": "onward", "problem": ""}


def _known_already(index: NoveltyIndex, plan: TaskPlan, work: Path) -> str:
    public = next(root / "prepared/public" for root in (work / "task", work.parents[2] / plan.task_id) if root.exists())
    brief = (public / "description.md").read_text(encoding="utf-8")
    if overlap := benchmark_overlap(plan.task_id, brief):
        return overlap
    twin = index.twin(Fingerprint.of(plan, brief))
    return f"a near-duplicate of {twin[0]} (similarity {twin[1]:.2f})" if twin else ""


async def reject(state: SynthesisState, runtime: Context) -> Update:
    """Give the candidate up and say why."""
    plan = state.planned()
    rejection = Rejection(
        candidate=plan.candidate,
        stage=state.stage,
        reason=state.problem,
        traits=await asyncio.to_thread(Traits.of, plan),
        reached=state.reached,
        cpu_s=round(state.cpu_s, 2),
    )
    return {"rejections": [*state.rejections, rejection]}


async def publish(state: SynthesisState, runtime: Context) -> Update:
    """Move the finished task to its public place."""
    plan = state.planned()
    await asyncio.to_thread(_publish, await _work(state, runtime), plan.task_id)
    return {"outcome": "published", "task_id": plan.task_id, "reached": "published"}


async def discard(state: SynthesisState, runtime: Context) -> Update:
    """Give the slot up: its draws are used."""
    await asyncio.to_thread(shutil.rmtree, await _work(state, runtime), ignore_errors=True)
    return {"outcome": "discarded"}


async def _metered(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """What a function returns, run in a thread, and the CPU seconds it took there."""

    def run() -> tuple[T, float]:
        start = time.thread_time()
        return function(*args, **kwargs), time.thread_time() - start

    return await asyncio.to_thread(run)


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
