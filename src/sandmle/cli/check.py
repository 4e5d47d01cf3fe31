"""``sandmle check``: is a task what it says it is?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli.synthesize import parse_jobs
from sandmle.errors import NegativeVerdict

if TYPE_CHECKING:
    from sandmle.graphs.synthesis.check import CheckReport
    from sandmle.sandboxes import LocalBackend
    from sandmle.task import Task

__all__ = ["check_command"]


def check_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of tasks, or one task.")],
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the tasks' scripts even where nothing shuts them in.")
    ] = False,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run every task's generator, baselines and evaluator again and compare; only reads. Exit code 1: a fault."""
    from sandmle.sandboxes import LocalBackend
    from sandmle.settings import get_settings
    from sandmle.task import load_tasks

    unisolated = allow_unisolated or get_settings().allow_unisolated
    backend = LocalBackend(concurrency=parse_jobs(jobs), allow_unisolated=unisolated)
    tasks = load_tasks(folder)
    reports = asyncio.run(_check_all(tasks, backend, 2 * parse_jobs(jobs), quiet=as_json))
    if as_json:
        import json

        typer.echo(json.dumps([report.model_dump(mode="json") for report in reports], indent=2))
    bad = sum(not report.passed for report in reports)
    if bad:
        raise NegativeVerdict(f"{bad} of {len(tasks)} tasks are not what they say")
    if not as_json:
        typer.echo(f"all {len(reports)} tasks are what they say")


async def _check_all(tasks: list[Task], backend: LocalBackend, window: int, *, quiet: bool) -> list[CheckReport]:
    from sandmle.eval.imports import check_imported
    from sandmle.graphs.synthesis.check import check_task

    at_once = asyncio.Semaphore(window)

    async def check(task: Task) -> CheckReport:
        async with at_once:
            imported = task.manifest.made_by.team == "imported"
            report = await (check_imported if imported else check_task)(task, backend)
        if not quiet:
            typer.echo(f"{report.task_id}: {'ok' if report.passed else 'FAULT'}")
            for finding in report.findings:
                typer.echo(f"  {finding}")
        return report

    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(check(task)) for task in tasks]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    finally:
        await backend.aclose()
    return [each.result() for each in running]
