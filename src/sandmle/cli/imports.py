"""``sandmle import``: tasks of others, verified before they become tasks of ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sandmle.cli.synthesize import parse_jobs
from sandmle.errors import NegativeVerdict

if TYPE_CHECKING:
    from sandmle.eval.imports import ImportReport
    from sandmle.sandboxes import LocalBackend

__all__ = ["import_command"]


def import_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A bundle of tasks, or one task of it.")],
    out: Annotated[Path, typer.Option("--out", metavar="TASKS", help="Folder that gets the tasks.")],
    layout: Annotated[
        Literal["released"],
        typer.Option("--format", help="released: as the SandMLE authors released theirs, or as sandmle exports them."),
    ] = "released",
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the bundle's evaluators even where nothing shuts them in.")
    ] = False,
) -> None:
    """Bring tasks in: run their evaluators in a sandbox, recognise the metric, verify. Exit code 1: one was refused."""
    from sandmle.eval.imports import find_bundles
    from sandmle.files import clear_leftovers, disk_errors, folder_lock
    from sandmle.sandboxes import LocalBackend
    from sandmle.settings import get_settings

    found, at_once = find_bundles(folder), parse_jobs(jobs)
    unisolated = allow_unisolated or get_settings().allow_unisolated
    backend = LocalBackend(concurrency=at_once, allow_unisolated=unisolated)
    with disk_errors(out), folder_lock(out):
        clear_leftovers(out)
        reports = asyncio.run(_import_all(found, out, backend, at_once))
    refused = sum(report.task_id is None for report in reports)
    typer.echo(f"{len(reports) - refused} of {len(reports)} tasks in {out}")
    if refused:
        raise NegativeVerdict(f"{refused} of {len(reports)} tasks of {folder} were refused")


async def _import_all(found: list[Path], out: Path, backend: LocalBackend, at_once: int) -> list[ImportReport]:
    from sandmle.eval.imports import import_released

    gate = asyncio.Semaphore(at_once)

    async def bring(root: Path) -> ImportReport:
        async with gate:
            report = await import_released(root, out, backend)
        failed, done = f"{report.bundle_id}: REFUSED: {report.reason}", f"{report.task_id}: {report.told}"
        typer.echo(done if report.task_id else failed)
        return report

    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(bring(root)) for root in found]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    finally:
        await backend.aclose()
    return [each.result() for each in running]
