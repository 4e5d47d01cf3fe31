"""How ready a task is to train on: its ladder on hidden tests drawn anew, with its own generator and baselines.

    DIR/readiness/<task_id>.json    beside the tasks, whose folders are closed by their hashes

Each redraw has a training seed and a test seed of its own; every rung is fitted and scored once on it, in sandboxes.
The thresholds stay those that the task was published with.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import Field, ValidationError

from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Acceptance, Calibration
from sandmle.eval.acceptance.readiness import Readiness, assess_readiness
from sandmle.eval.grading import InvalidSubmission, read_answers, read_submission
from sandmle.eval.metrics import MetricUndefined, get_metric
from sandmle.files import disk_errors, write_text
from sandmle.graphs.synthesis import trial
from sandmle.graphs.synthesis.drawing import draw_data
from sandmle.record import VersionedRecord, first_problem
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task

__all__ = [
    "TaskReadiness",
    "measure_readiness",
    "read_plan",
    "read_readiness",
    "redraw_seeds",
    "searched_scores",
    "write_readiness",
]

SEEDS = 2**31
Scores = dict[str, list[float]]


class TaskReadiness(VersionedRecord):
    """``readiness/<task_id>.json``.

    Attributes:
        content_hash: of the task that was measured.
        redraws: hidden tests drawn anew.
        seed: what the redraws follow from, with the task's id.
        scores: per redraw, each rung's score on the Private rows in the metric's own units.
        readiness: the card; None where ``problem`` says why there is none.
    """

    task_id: str
    content_hash: str
    redraws: int
    seed: int
    scores: tuple[dict[str, float], ...] = Field(default=())
    readiness: Readiness | None = None
    problem: str = ""

    def answers(self, task: Task, redraws: int, seed: int) -> bool:
        """Whether this is what measuring ``task`` like that would give again."""
        return (self.content_hash, self.redraws, self.seed) == (task.manifest.content_hash, redraws, seed)


class Unusable(Exception):
    """A redraw can't be made or scored; says why."""


def read_readiness(folder: Path, task: Task) -> TaskReadiness | None:
    """What was measured of ``task`` in ``folder``; None where nothing was, or of another version of the task."""
    path = _place(folder, task)
    found = TaskReadiness.read(path) if path.exists() else None
    return found if found is not None and found.content_hash == task.manifest.content_hash else None


def write_readiness(folder: Path, task: Task, found: TaskReadiness) -> None:
    """Remember what was measured."""
    write_text(_place(folder, task), found.to_text())


def _place(folder: Path, task: Task) -> Path:
    return folder / "readiness" / f"{task.id}.json"


def redraw_seeds(plan: TaskPlan, redraws: int, seed: int) -> list[tuple[int, int]]:
    """(training seed, test seed) of each redraw; no seed is drawn twice or is one that the task was made with."""
    rng = np.random.default_rng([seed, zlib.crc32(plan.task_id.encode())])
    used = {*plan.train_seeds, plan.test_seed}
    fresh: list[int] = []
    while len(fresh) < 2 * redraws:
        drawn = int(rng.integers(SEEDS))
        if drawn not in used:
            used.add(drawn)
            fresh.append(drawn)
    return list(zip(fresh[::2], fresh[1::2], strict=True))


async def measure_readiness(task: Task, backend: SandboxBackend, *, redraws: int, seed: int) -> TaskReadiness:
    """Draw ``redraws`` hidden tests, run every rung on each, and assess what comes out.

    Raises:
        BadInput: the task has no provenance that can be read.
        EnvironmentProblem: the machine lacks disk space or isolation.
        InfraError: a sandbox failed.
    """
    plan, calibration, search = await asyncio.to_thread(_provenance, task)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="sandmle-readiness-"))
    found = TaskReadiness(task_id=task.id, content_hash=task.manifest.content_hash, redraws=redraws, seed=seed)
    try:
        with disk_errors(scratch):
            scores = await _scores(task, plan, redraw_seeds(plan, redraws, seed), backend, scratch)
        card = assess_readiness(calibration, scores, search)
    except Unusable as fault:
        return found.model_copy(update={"problem": str(fault)})
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)
    by_redraw = tuple({rung: score for rung, (score,) in drawn.items()} for drawn in scores)
    return found.model_copy(update={"scores": by_redraw, "readiness": card})


def read_plan(task: Task) -> TaskPlan:
    """The plan that a synthetic task was made by.

    Raises:
        BadInput: it has none that can be read.
    """
    path = task.provenance / "rule.json"
    try:
        return TaskPlan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; only synthetic tasks can be drawn anew") from error
    except ValidationError as error:
        raise BadInput(f"{path}: {first_problem(error)}") from error


def _provenance(task: Task) -> tuple[TaskPlan, Calibration, dict[int, float]]:
    plan = read_plan(task)
    calibration = Calibration.read(task.provenance / "calibration.json")
    if calibration.thresholds is None:
        raise BadInput(f"{task.root}: a task without thresholds has no tiers to land in")
    return plan, calibration, searched_scores(Acceptance.read(task.provenance / "acceptance.json"))


def searched_scores(acceptance: Acceptance) -> dict[int, float]:
    """Score of the public search by its number of ideas, in the metric's own units."""
    numbers = next((found.numbers for found in acceptance.verdicts if found.probe == "discoverability"), {})
    named = {name.removeprefix("search_"): score for name, score in numbers.items() if name.startswith("search_")}
    return {int(ideas): score for ideas, score in named.items() if ideas.isdecimal()}


async def _scores(
    task: Task, plan: TaskPlan, seeds: Sequence[tuple[int, int]], backend: SandboxBackend, scratch: Path
) -> list[Scores]:
    """Per redraw the score of every rung; data are drawn redraw by redraw, all rungs run in one sandbox."""
    runs = scratch / "runs"
    for index, (train_seed, test_seed) in enumerate(seeds):
        drawn, place = plan.model_copy(update={"train_seeds": (train_seed,), "test_seed": test_seed}), scratch / "drawn"
        await asyncio.to_thread(trial.clear, place)
        ran = await draw_data(backend, drawn, task.provenance / "generate.py", place)
        if ran.problem:
            raise Unusable(ran.problem)
        await asyncio.to_thread(_shelve, place, runs, index)
    fitted = plan.model_copy(update={"train_seeds": tuple(train_seed for train_seed, _ in seeds)})
    ran = await trial.run_baselines(backend, fitted, task.provenance / "baselines", runs)
    if ran.problem:
        raise Unusable(ran.problem)
    return [await asyncio.to_thread(_graded, plan, runs, index) for index in range(len(seeds))]


def _shelve(place: Path, runs: Path, index: int) -> None:
    runs.mkdir(exist_ok=True)
    (place / "redraw-0").rename(runs / f"redraw-{index}")
    (place / "private").rename(runs / f"private-{index}")


def _graded(plan: TaskPlan, runs: Path, index: int) -> Scores:
    metric, form = get_metric(plan.metric), plan.submission
    scores: Scores = {}
    try:
        key = read_answers(runs / f"private-{index}" / "answers.csv", form)
        for rung in plan.rungs:
            given = read_submission(runs / "predictions" / f"{rung}-{index}.csv", form, key, domain=metric.domain)
            scores[rung] = [float(metric.score(key.truth[key.private], given[key.private]))]
    except (InvalidSubmission, MetricUndefined) as fault:
        raise Unusable(f"redraw {index}: {fault}") from fault
    return scores
