"""``sandmle readiness``: how stable are the ladder and the medals of each task?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli.synthesize import parse_jobs
from sandmle.errors import NegativeVerdict

if TYPE_CHECKING:
    from sandmle.graphs.synthesis.readiness import TaskReadiness
    from sandmle.sandboxes import LocalBackend
    from sandmle.task import Task

__all__ = ["readiness_command"]


def readiness_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of synthetic tasks.")],
    redraws: Annotated[int, typer.Option("--redraws", min=1, max=1000, help="Hidden tests to draw anew a task.")] = 5,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Only N tasks, drawn with --seed.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the redraws and of the sample.")] = 0,
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the tasks' scripts even where nothing shuts them in.")
    ] = False,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
) -> None:
    """Fit every baseline anew on redrawn hidden tests; writes DIR/readiness, skips what is there. See also card."""
    from sandmle.sandboxes import LocalBackend
    from sandmle.settings import get_settings
    from sandmle.task import load_tasks

    at_once = parse_jobs(jobs)
    tasks = _sampled(load_tasks(folder), sample, seed)
    backend = LocalBackend(concurrency=at_once, allow_unisolated=allow_unisolated or get_settings().allow_unisolated)
    try:
        found = asyncio.run(_measure_all(folder, tasks, backend, redraws=redraws, seed=seed, at_once=at_once))
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is measured is in {folder / 'readiness'}: the same command goes on", err=True)
        raise typer.Exit(130) from None
    _tell(found)


def _sampled(tasks: list[Task], sample: int | None, seed: int) -> list[Task]:
    if sample is None or sample >= len(tasks):
        return tasks
    import numpy as np

    chosen = np.random.default_rng([seed, len(tasks)]).choice(len(tasks), sample, replace=False)
    return [tasks[index] for index in sorted(chosen.tolist())]


async def _measure_all(
    folder: Path, tasks: list[Task], backend: LocalBackend, *, redraws: int, seed: int, at_once: int
) -> list[TaskReadiness]:
    from sandmle.graphs.synthesis.readiness import measure_readiness, read_readiness, write_readiness

    gate, done = asyncio.Semaphore(at_once), 0

    async def measure(task: Task) -> TaskReadiness:
        nonlocal done
        async with gate:
            found = read_readiness(folder, task)
            if found is None or not found.answers(task, redraws, seed):
                found = await measure_readiness(task, backend, redraws=redraws, seed=seed)
                await asyncio.to_thread(write_readiness, folder, task, found)
        done += 1
        typer.echo(f"[{done}/{len(tasks)}] {task.id}: {_line(found)}", err=True)
        return found

    running = [asyncio.create_task(measure(task)) for task in tasks]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await backend.aclose()


def _line(found: TaskReadiness) -> str:
    if found.readiness is None:
        return f"can't be drawn anew: {found.problem}"
    counts = found.readiness.reliability
    intended, reruns = sum(counts.intended.values()), sum(counts.reruns.values())
    return f"{counts.pairs_in_order} of {counts.pairs} pairs in order, {intended} of {reruns} re-runs in their tier"


def _tell(found: list[TaskReadiness]) -> None:
    from sandmle.eval.acceptance.readiness import pool_reliability

    cards = [one.readiness for one in found if one.readiness is not None]
    pooled = pool_reliability([card.reliability for card in cards])
    if pooled.order_share is not None and pooled.tier_share is not None:
        typer.echo(f"{len(cards)} tasks, {pooled.tests} redrawn hidden tests")
        typer.echo(f"  adjacent pairs in order: {100 * pooled.order_share:.1f} % of {pooled.pairs}")
        typer.echo(f"  re-runs in their tier:   {100 * pooled.tier_share:.1f} % of {sum(pooled.reruns.values())}")
    if failed := len(found) - len(cards):
        raise NegativeVerdict(f"{failed} of {len(found)} tasks can't be drawn anew")
