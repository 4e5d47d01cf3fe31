"""Drawing a candidate's data: its generator is run in a sandbox with several seeds, and what it wrote is compared.

Equal seeds must give equal training rows, and all else but the sample submission may depend on the test seed alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sandmle.agents.roles import TaskPlan
from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.graphs.synthesis.bundle import PACK, Files, pack_job, read_bundle, write_files
from sandmle.graphs.synthesis.trial import Ran, first_failure
from sandmle.sandboxes import SandboxBackend, SandboxSpec

__all__ = ["DATA_FILES", "draw_data"]

DATA_FILES = (
    "public/train.csv",
    "public/test.csv",
    "public/sample_submission.csv",
    "private/answers.csv",
    "private/bayes.csv",
)
TRAIN = ("public/train.", "public/train_")
SAMPLE = "public/sample_submission."
BRIEF = "public/description.md"
CPU_SECONDS = 60.0
"""Of one run of the generator."""
FEW = 100
"""Test rows of a run whose training rows alone are looked at."""


class _Draw(NamedTuple):
    """One run of the generator."""

    name: str
    train_seed: int
    test_seed: int
    n_test: int

    def job(self, n_train: int) -> ScriptJob:
        seeds = ("--train-seed", str(self.train_seed), "--test-seed", str(self.test_seed))
        sizes = ("--n-train", str(n_train), "--n-test", str(self.n_test))
        args = (*seeds, *sizes, "--out", self.name)
        return ScriptJob(name=self.name, script="generate.py", args=args, cpu_seconds=CPU_SECONDS)


async def draw_data(backend: SandboxBackend, plan: TaskPlan, generator: Path, trial: Path) -> Ran:
    """Run the generator once per training redraw, the first one again, and with another test seed; keep the redraws.

    Where the rows of a plan stand apart, two runs with all test rows show what depends on what; the others draw few.
    Beside its training rows each redraw gets the files of the first.
    """
    draws = _draws(plan)
    async with await backend.create(SandboxSpec()) as sandbox:
        await sandbox.write("generate.py", await asyncio.to_thread(generator.read_bytes))
        await sandbox.write("pack.py", PACK.encode())
        jobs = [*(draw.job(plan.n_train) for draw in draws), *(pack_job(draw.name) for draw in draws)]
        results = await run_scripts(sandbox, jobs, preload=("pandas", *plan.preload))
        cpu_s = sum(result.cpu_s for result in results.values())
        if problem := first_failure(results):
            return Ran(problem=problem, cpu_s=cpu_s)
        try:
            *redraws, again, elsewhere = [await read_bundle(sandbox, draw.name) for draw in draws]
        except (FileNotFoundError, ValueError) as error:
            return Ran(problem=f"generate.py wrote no usable files: {error}", cpu_s=cpu_s)
    whole = [files for draw, files in zip(draws, (*redraws, again), strict=False) if draw.n_test == plan.n_test]
    problem = _data_problem(redraws[0], whole, again) or _seed_problem(plan, again, elsewhere)
    if not problem:
        hidden = {name: data for name, data in redraws[0].items() if not name.startswith(TRAIN)}
        await asyncio.to_thread(_keep, trial, [redraws[0], *({**_train(other), **hidden} for other in redraws[1:])])
    return Ran(problem=problem, cpu_s=cpu_s)


def _draws(plan: TaskPlan) -> list[_Draw]:
    """The redraws, the first one ``again``, and that ``elsewhere``: with a test seed that is not the task's."""
    few = min(plan.n_test, FEW)
    seeds = (*plan.train_seeds, plan.train_seeds[0])
    names = (*(f"redraw-{index}" for index in range(len(plan.train_seeds))), "again")
    sizes = [few if plan.rows_apart and index > 1 else plan.n_test for index in range(len(seeds))]
    draws = [_Draw(*each) for each in zip(names, seeds, [plan.test_seed] * len(seeds), sizes, strict=True)]
    return [*draws, draws[-1]._replace(name="elsewhere", test_seed=plan.test_seed + 1)]


def _data_problem(first: Files, whole: Sequence[Files], again: Files) -> str:
    if missing := [name for name in DATA_FILES if name not in first]:
        return f"generate.py wrote no {missing[0]}"
    if BRIEF in first:
        return f"generate.py wrote {BRIEF}, which is the writer's"
    if any(_hidden(first) != _hidden(other) for other in whole):
        return "generate.py gives other test rows when only --train-seed changes"
    if _train(first) != _train(again):
        return "generate.py writes other training rows when it runs again with the same seeds, or for fewer test rows"
    return ""


def _seed_problem(plan: TaskPlan, here: Files, elsewhere: Files) -> str:
    if missing := [name for name in DATA_FILES if name not in elsewhere]:
        return f"generate.py writes no {missing[0]} with another --test-seed"
    if here["public/test.csv"] == elsewhere["public/test.csv"]:
        return "generate.py gives the same test rows when only --test-seed changes"
    if plan.rows_apart and _train(here) != _train(elsewhere):
        return "generate.py gives other training rows when only --test-seed changes"
    return ""


def _train(files: Files) -> dict[str, bytes]:
    """The training rows, and what belongs to them."""
    return {name: data for name, data in files.items() if name.startswith(TRAIN)}


def _hidden(files: Files) -> dict[str, bytes]:
    """All that may not depend on the training rows."""
    return {name: data for name, data in files.items() if not name.startswith((*TRAIN, SAMPLE))}


def _keep(trial: Path, redraws: Sequence[Files]) -> None:
    for index, files in enumerate(redraws):
        parts: dict[str, dict[str, bytes]] = {"public": {}, "private": {}}
        for name, data in files.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = data
        write_files(trial / f"redraw-{index}", parts["public"], same_as=trial / "redraw-0" if index else None)
        if index == 0:
            write_files(trial / "private", parts["private"])
