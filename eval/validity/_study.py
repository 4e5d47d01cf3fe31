"""A whole study: which tasks, every pipeline on each, and what follows.

OUT/scores/synthetic|real|more-rows/<task>.json   what is remembered, so that a killed study goes on
OUT/rows/<task>/                                  public files with more training rows
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.validity._compare import Arm, compare, self_consistency
from sandmle.eval.validity._measure import measurable, measure_task
from sandmle.eval.validity._record import Comparison, TaskScores, ValidityReport
from sandmle.eval.validity._redraw import redraw_rows, redrawable
from sandmle.eval.validity.pipelines import PIPELINES, SLOW, WEAK
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Modality, Task

__all__ = ["Study", "run_study"]

MIN_PIPELINES = 3
MORE = "more-rows"
ALL: tuple[str, ...] = get_args(Modality)
OnDone = Callable[[str, TaskScores], None]
"""Told the arm and the scores of every task as soon as it is done."""


@dataclass(frozen=True)
class Study:
    """What is measured.

    Attributes:
        synthetic: tasks of one arm; ``real`` those of the other.
        rules: synthetic tasks that are also drawn with more training rows.
        rows: how many.
        pipelines: names; those that are slow are left out where there are many rows.
    """

    synthetic: tuple[Task, ...]
    real: tuple[Task, ...]
    rules: tuple[Task, ...]
    rows: int
    pipelines: tuple[str, ...]

    @property
    def quick(self) -> tuple[str, ...]:
        """The pipelines that run on many rows."""
        return tuple(name for name in self.pipelines if name not in SLOW)

    @property
    def runs(self) -> tuple[tuple[str, Task], ...]:
        """Every arm with each of its tasks, once."""
        arms = {"synthetic": (*self.synthetic, *self.rules), "real": self.real, MORE: self.rules}
        found = {(arm, task.id): (arm, task) for arm, tasks in arms.items() for task in tasks}
        return tuple(found.values())

    @classmethod
    def choose(
        cls,
        synthetic: Sequence[Task],
        real: Sequence[Task],
        *,
        tasks: int,
        rules: int,
        rows: int,
        pipelines: Sequence[str] = PIPELINES,
        modalities: Sequence[str] = (),
        seed: int = 0,
    ) -> Study:
        """Draw up to ``tasks`` tasks for each arm and up to ``rules`` rules, of those that the pipelines can do.

        Where ``modalities`` names any, no others are in either arm.

        Raises:
            BadInput: an arm is empty, or a pipeline or modality unknown.
        """
        if strange := sorted(set(modalities) - set(ALL)):
            raise BadInput(f"unknown modality {strange[0]!r}; choose from {', '.join(ALL)}")
        if unknown := sorted(set(pipelines) - set(PIPELINES)):
            raise BadInput(f"unknown pipeline {unknown[0]!r}; choose from {', '.join(PIPELINES)}")
        if len(set(pipelines) - set(SLOW)) < MIN_PIPELINES:
            raise BadInput(f"ranks need at least {MIN_PIPELINES} pipelines beside {', '.join(SLOW)}")
        arms = {
            name: [task for task in arm if measurable(task) and task.manifest.modality in (modalities or ALL)]
            for name, arm in {"synthetic": synthetic, "real": real}.items()
        }
        for name, arm in arms.items():
            if not arm:
                raise BadInput(f"there is no {name} task that the pipelines can do ({', '.join(modalities or ALL)})")
        repeated = _drawn([task for task in arms["synthetic"] if redrawable(task)], rules, seed + 1)
        first, second = (_drawn(arm, tasks, seed) for arm in arms.values())
        return cls(first, second, repeated, rows, tuple(dict.fromkeys(pipelines)))


def _drawn(tasks: Sequence[Task], n: int, seed: int) -> tuple[Task, ...]:
    order = np.random.default_rng([seed, len(tasks)]).permutation(len(tasks))[:n]
    return tuple(tasks[index] for index in sorted(order.tolist()))


async def run_study(
    study: Study, backend: SandboxBackend, out: Path, *, jobs: int, on_done: OnDone = lambda _arm, _scores: None
) -> ValidityReport:
    """Run what ``out`` does not remember, and compare.

    Raises:
        BadInput: a task is broken, or a rule can't be drawn with more rows.
        InfraError: a sandbox failed.
    """
    gate = asyncio.Semaphore(jobs)

    async def measure(arm: str, task: Task) -> TaskScores:
        async with gate:
            if arm == MORE:
                place = f"{task.id}-{study.rows}"
                draw = partial(redraw_rows, task, study.rows, backend, out / "rows" / place)
                found = await measure_task(task, study.quick, backend, out / "scores" / arm / f"{place}.json", draw)
            else:
                path = out / "scores" / arm / f"{task.id}.json"
                found = await measure_task(task, study.pipelines, backend, path)
        on_done(arm, found)
        return found

    try:
        async with asyncio.TaskGroup() as group:
            running = {(arm, task.id): group.create_task(measure(arm, task)) for arm, task in study.runs}
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return _report(study, {place: each.result() for place, each in running.items()})


def _report(study: Study, found: dict[tuple[str, str], TaskScores]) -> ValidityReport:
    def arm(name: str, tasks: Sequence[Task]) -> Arm:
        return Arm(tuple(found[name, task.id] for task in tasks))

    synthetic, real = arm("synthetic", study.synthetic), arm("real", study.real)
    comparisons = _both("synthetic against real tasks", synthetic, real, study.pipelines, paired=False)
    if study.rules:
        few, many = arm("synthetic", study.rules), arm(MORE, study.rules)
        sizes = " and ".join(str(n) for n in sorted({task.n_train for task in few.tasks}))
        name = f"the same rules with {sizes} and with {study.rows} training rows"
        comparisons += _both(name, few, many, study.quick, paired=True)
    scores = [score for task in found.values() for name, score in task.scores.items() if name in study.pipelines]
    return ValidityReport(
        comparisons=comparisons,
        ceiling=self_consistency(real, study.pipelines),
        cpu_s=round(sum(sum(task.cpu_s.values()) for task in found.values()), 1),
        runs=len(scores),
        failed=sum(score is None for score in scores),
        tasks={
            "synthetic": tuple(task.id for task in study.synthetic),
            "real": tuple(task.id for task in study.real),
            "rules": tuple(task.id for task in study.rules),
        },
    )


def _both(name: str, first: Arm, second: Arm, pipelines: Sequence[str], *, paired: bool) -> tuple[Comparison, ...]:
    """The comparison with all pipelines, and without the weak ones where enough are left."""
    strong = [each for each in pipelines if each not in WEAK]
    wanted = {name: pipelines} | ({f"{name}, without weak pipelines": strong} if len(strong) >= MIN_PIPELINES else {})
    return tuple(compare(title, first, second, names, paired=paired) for title, names in wanted.items())
