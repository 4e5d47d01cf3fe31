"""The nodes of the synthesis graph: four roles that write, checks that run and judge, a person, and two ways to end.

Every node may run twice (a killed run repeats the interrupted one), so each starts from what the state says and
replaces what it finds in the work folder. Files are touched in threads: a server's event loop never waits for a disk.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from langgraph.types import interrupt

from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance import Calibration, calibrate, judge
from sandmle.files import publish_folder
from sandmle.graphs.synthesis import trial, verification
from sandmle.graphs.synthesis.drawing import draw_data
from sandmle.graphs.synthesis.evidence import load_evidence
from sandmle.graphs.synthesis.novelty import Fingerprint, NoveltyIndex, benchmark_overlap
from sandmle.graphs.synthesis.playing import (
    Context,
    Update,
    data_faults,
    feedback_to,
    in_thread,
    play,
    sent_back,
    work_of,
    workshop_of,
)
from sandmle.graphs.synthesis.relabel import relabel
from sandmle.graphs.synthesis.state import Rejection, SynthesisState
from sandmle.graphs.synthesis.traits import Traits, how_far
from sandmle.graphs.synthesis.verification import Made
from sandmle.graphs.synthesis.workshop import Workshop
from sandmle.seeds import select_seeds

__all__ = [
    "brief_check",
    "data_strategist",
    "discard",
    "evaluator_check",
    "final_verification",
    "human_review",
    "ml_developer",
    "mlops_engineer",
    "novelty_check",
    "publish",
    "reject",
    "technical_writer",
    "threshold_check",
]


async def data_strategist(state: SynthesisState, runtime: Context) -> Update:
    """Draw the slot's next candidate."""
    context, workshop = runtime.context, await workshop_of(runtime)
    await asyncio.to_thread(trial.clear, await work_of(state, runtime))
    (seed,) = await asyncio.to_thread(select_seeds, [state.seed])
    candidate = state.slot * context.max_draws + state.draws

    async def draw() -> Update:
        return {"plan": await workshop.team.strategist.plan(seed, candidate, state.modality)}

    fresh: Update = {"plan": None, "attempts": {}, "problem": "", "calibration": None, "reached": "drawn"}
    fresh |= {"discoverable": None, "draws": state.draws + 1, "cpu_s": 0.0, "rung_cpu_s": {}}
    return {**fresh, **await play(state, runtime, "plan", draw)}


async def ml_developer(state: SynthesisState, runtime: Context) -> Update:
    """Write generator and baselines, or mend them."""
    developer = (await workshop_of(runtime)).team.developer
    task = await work_of(state, runtime) / "task"

    async def develop() -> Update:
        return {"plan": await developer.develop(state.planned(), task, feedback_to(state, "developer"))}

    return await play(state, runtime, "scripts", develop)


async def threshold_check(state: SynthesisState, runtime: Context) -> Update:
    """Run generator and baselines; are the scores in order, separable and with headroom left?"""
    plan, work, workshop = state.planned(), await work_of(state, runtime), await workshop_of(runtime)
    runs = work / "runs"
    ran = await _run_ladder(workshop, plan, work)
    spent = state.cpu_s + ran.cpu_s
    if ran.problem:
        update = sent_back(state, runtime, "developer", "thresholds", ran.problem)
        return {**update, "calibration": None, "cpu_s": spent, "rung_cpu_s": {}, "reached": "drawn"}
    (calibration, problem), used = await in_thread(_judge_ladder, plan, runs, data_faults(workshop))
    measured: Update = {"calibration": calibration, "cpu_s": spent + used, "rung_cpu_s": ran.rungs}
    measured["reached"] = how_far(calibration, separable=not problem) if calibration else "generated"
    if problem:
        return {**sent_back(state, runtime, "developer", "thresholds", problem), **measured}
    searched = await trial.run_search(workshop.backend, plan, runs)
    measured["cpu_s"] += searched.cpu_s
    if searched.problem:
        return {"route": "reject", "problem": searched.problem, "stage": "verification", **measured}
    if workshop.team.players["developer"] == "llm":
        weak = await asyncio.to_thread(_too_weak, plan, runs, calibration)
        if weak:
            return {**sent_back(state, runtime, "developer", "thresholds", weak), **measured}
    await asyncio.to_thread(verification.lay_out_data, runs, work / "task")
    return {"route": "onward", "problem": "", **measured}


async def _run_ladder(workshop: Workshop, plan: TaskPlan, work: Path) -> trial.Ran:
    """Draw the data, label them again where a model wrote the generator, and run the baselines."""
    backend, runs, provenance = workshop.backend, work / "runs", work / "task" / "provenance"
    await asyncio.to_thread(trial.clear, runs)
    drawn = await draw_data(backend, plan, provenance / "generate.py", runs)
    if drawn.problem:
        return drawn
    spent = drawn.cpu_s
    if workshop.team.players["developer"] == "llm":
        problem, used = await relabel(backend, plan, runs)
        spent += used
        if problem:
            return trial.Ran(problem=problem, cpu_s=spent)
    ran = await trial.run_baselines(backend, plan, provenance / "baselines", runs)
    return ran.model_copy(update={"cpu_s": spent + ran.cpu_s})


def _judge_ladder(plan: TaskPlan, runs: Path, faults: tuple[type[Exception], ...]) -> tuple[Calibration | None, str]:
    """The measured ladder, None where it can't be scored, and what is wrong with it."""
    try:
        evidence = load_evidence(plan, runs)
        calibration = calibrate(evidence)
    except faults as fault:
        return None, " ".join(str(fault).split())
    verdicts = [judge(name, evidence, calibration) for name in ("order", "headroom")]
    return calibration, next((f"{found.probe}: {found.reason}" for found in verdicts if not found.passed), "")


def _too_weak(plan: TaskPlan, runs: Path, calibration: Calibration | None) -> str:
    """Generic baselines that a model wrote may not lie so far below the search that its first idea earns gold."""
    if calibration is None or calibration.thresholds is None:
        return ""
    evidence = load_evidence(plan, runs)
    found = judge("discoverability", evidence, calibration).numbers.get("search_1")
    if found is None or evidence.sign * found < evidence.sign * calibration.thresholds.gold:
        return ""
    return f"the generic baselines are too weak: the commonest idea of all scores {found:.4g}, which is gold"


async def mlops_engineer(state: SynthesisState, runtime: Context) -> Update:
    """Write the evaluator, or mend it."""
    thresholds = state.calibrated().thresholds
    if thresholds is None:
        raise ValueError("a candidate without thresholds can't have an evaluator")
    engineer = (await workshop_of(runtime)).team.engineer
    task = await work_of(state, runtime) / "task"

    async def write() -> Update:
        await engineer.write_evaluator(state.planned(), thresholds, task, feedback_to(state, "engineer"))
        return {}

    return await play(state, runtime, "evaluator", write)


async def evaluator_check(state: SynthesisState, runtime: Context) -> Update:
    """Does the evaluator agree with our grader on good, random and bad submissions?"""
    work = await work_of(state, runtime)
    verdict, used = await verification.check_evaluator(
        (await workshop_of(runtime)).backend, state.planned(), state.calibrated(), work / "runs", work / "task"
    )
    spent: Update = {"cpu_s": state.cpu_s + used}
    if not verdict.passed:
        return {**sent_back(state, runtime, "engineer", "evaluator", verdict.reason), **spent}
    return {"route": "onward", "problem": "", **spent}


async def technical_writer(state: SynthesisState, runtime: Context) -> Update:
    """Write the brief, or mend it."""
    writer = (await workshop_of(runtime)).team.writer
    task = await work_of(state, runtime) / "task"

    async def write() -> Update:
        await writer.write_brief(state.planned(), task, feedback_to(state, "writer"))
        return {}

    return await play(state, runtime, "brief", write)


async def brief_check(state: SynthesisState, runtime: Context) -> Update:
    """Is the brief right, and does it keep the rule to itself, by the probes and by the reviewer?"""
    plan, task = state.planned(), await work_of(state, runtime) / "task"
    found = await asyncio.to_thread(verification.check_brief_of, plan, task)
    if not found.passed:
        return sent_back(state, runtime, "writer", "brief", found.reason)
    reviewer = (await workshop_of(runtime)).team.reviewer
    if reviewer is None:
        return {"route": "onward", "problem": ""}

    async def review() -> Update:
        problem = await reviewer.review(plan, task, state.attempts.get("writer", 0))
        return sent_back(state, runtime, "writer", "brief", problem) if problem else {"problem": ""}

    return await play(state, runtime, "brief", review)


async def final_verification(state: SynthesisState, runtime: Context) -> Update:
    """Is the whole task acceptable? Then write its manifest."""
    plan, work, calibration = state.planned(), await work_of(state, runtime), state.calibrated()
    task, runs = work / "task", work / "runs"
    try:
        acceptance, used = await in_thread(verification.accept_candidate, plan, calibration, runs)
    except data_faults(await workshop_of(runtime)) as fault:
        return {"route": "reject", "problem": " ".join(str(fault).split()), "stage": "verification"}
    judged: Update = {"discoverable": "undiscoverable" not in acceptance.flags, "cpu_s": state.cpu_s + used}
    if not acceptance.passed:
        return {"route": "reject", "problem": acceptance.reason, "stage": "verification", **judged}
    if not judged["discoverable"] and runtime.context.strictness == "discoverable":
        problem = "the search finds too little of the rule"
        return {"route": "reject", "problem": problem, "stage": "verification", **judged}
    lineage = await asyncio.to_thread(verification.lineage_of, plan, state.seed, runtime.context)
    made = Made(plan, lineage, (await workshop_of(runtime)).team.players)
    await asyncio.to_thread(verification.write_records, made, calibration, acceptance, task)
    return {"route": "onward", "problem": "", "reached": "leak_free", **judged}


async def novelty_check(state: SynthesisState, runtime: Context) -> Update:
    """After all lower slots: is the task unlike each of theirs, and unlike any benchmark's?"""
    workshop, plan = await workshop_of(runtime), state.planned()
    if workshop.order is not None:
        await workshop.order.turn(state.slot)
    problem = await asyncio.to_thread(_known_already, workshop.novelty, plan, await work_of(state, runtime))
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


async def human_review(state: SynthesisState, runtime: Context) -> Update:
    """Ask a person, where the settings say so: resume with ``{"publish": true}``, or with a reason not to."""
    if not runtime.context.review:
        return {"route": "onward"}
    plan, calibration = state.planned(), state.calibrated()
    brief = await work_of(state, runtime) / "task/prepared/public/description.md"
    answer = interrupt(
        {
            "task": plan.task_id,
            "brief": await asyncio.to_thread(brief.read_text, "utf-8"),
            "rule": list(plan.rule_terms),
            "scores": {name: rung.mean for name, rung in calibration.rungs.items()},
            "how": 'resume with {"publish": true}, or with {"publish": false, "reason": "..."}',
        }
    )
    if isinstance(answer, dict) and answer.get("publish") is True:
        return {"route": "onward"}
    reason = answer.get("reason") if isinstance(answer, dict) else answer
    return {"route": "reject", "problem": f"a person said no: {reason or 'no reason given'}", "stage": "review"}


async def reject(state: SynthesisState, runtime: Context) -> Update:
    """Give the candidate up and say why."""
    candidate = state.slot * runtime.context.max_draws + state.draws - 1
    rejection = Rejection(
        candidate=candidate,
        stage=state.stage,
        reason=state.problem,
        traits=await asyncio.to_thread(Traits.of, state.plan) if state.plan else None,
        reached=state.reached,
        cpu_s=round(state.cpu_s, 2),
    )
    return {"rejections": [*state.rejections, rejection]}


async def publish(state: SynthesisState, runtime: Context) -> Update:
    """Move the finished task to its public place."""
    plan = state.planned()
    await asyncio.to_thread(_publish, await work_of(state, runtime), plan.task_id)
    return {"outcome": "published", "task_id": plan.task_id, "reached": "published"}


async def discard(state: SynthesisState, runtime: Context) -> Update:
    """Give the slot up: its draws are used."""
    await asyncio.to_thread(shutil.rmtree, await work_of(state, runtime), ignore_errors=True)
    return {"outcome": "discarded"}


def _publish(work: Path, task_id: str) -> None:
    """Move the task to its public place, unless that was done before the run was killed."""
    target = work.parents[2] / task_id
    if (work / "task").exists() or not (target / "task.json").exists():
        publish_folder(work / "task", target)
    shutil.rmtree(work, ignore_errors=True)
