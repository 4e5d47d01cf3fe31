"""``sandmle suites validity``: does a score on synthetic tasks predict one on real data?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli.synthesize import parse_jobs

if TYPE_CHECKING:
    from sandmle.eval.validity import Study, TaskScores, ValidityReport
    from sandmle.sandboxes import LocalBackend

__all__ = ["validity_command"]


def validity_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Synthetic tasks.")],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="Remembers scores; gets validity.json and .md.")],
    real: Annotated[str, typer.Option("--real", metavar="SUITE", help="The real tasks.")] = "bundled",
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=1, help="At most so many of each.")] = 12,
    rules: Annotated[
        int, typer.Option("--rules", metavar="N", min=0, help="Synthetic tables also drawn with more rows; 0: none.")
    ] = 4,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=20, help="How many more rows.")] = 20_000,
    pipelines: Annotated[str, typer.Option("--pipelines", metavar="NAME,...", help="By default all.")] = "",
    modalities: Annotated[
        str, typer.Option("--modalities", metavar="NAME,...", help="Of both kinds of tasks, such as tabular,text.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draw of tasks.")] = 0,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the tasks' generators even where nothing shuts them in.")
    ] = False,
) -> None:
    """Rank 17 pipelines on synthetic and on real tasks, and on the same rules with few and many rows; compare ranks.

    Costs 5 to 40 CPU seconds a task of a few hundred rows, and one to two minutes a rule of 20,000 rows, where the slow
    pipeline `search` is left out. The same command goes on where it was stopped. See docs/validity.md.
    """
    from sandmle.eval.suites import load_suite
    from sandmle.eval.validity import PIPELINES, Study, markdown_report
    from sandmle.files import disk_errors, folder_lock, write_text
    from sandmle.sandboxes import LocalBackend
    from sandmle.settings import get_settings
    from sandmle.task import load_tasks

    study = Study.choose(
        load_tasks(folder),
        load_suite(real).tasks,
        tasks=tasks,
        rules=rules,
        rows=rows,
        pipelines=_names(pipelines) or PIPELINES,
        modalities=_names(modalities),
        seed=seed,
    )
    at_once = parse_jobs(jobs)
    backend = LocalBackend(concurrency=at_once, allow_unisolated=allow_unisolated or get_settings().allow_unisolated)
    try:
        with disk_errors(out), folder_lock(out):
            report = asyncio.run(_run(study, backend, out, at_once))
            write_text(out / "validity.json", report.to_text())
            write_text(out / "validity.md", markdown_report(report))
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is measured is in {out}: the same command goes on", err=True)
        raise typer.Exit(130) from None
    typer.echo(markdown_report(report), nl=False)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


async def _run(study: Study, backend: LocalBackend, out: Path, at_once: int) -> ValidityReport:
    from sandmle.eval.validity import run_study

    done, total = 0, len(study.runs)

    def tell(arm: str, found: TaskScores) -> None:
        nonlocal done
        done += 1
        failed = sum(score is None for score in found.scores.values())
        more = f", {failed} failed" if failed else ""
        seconds = sum(found.cpu_s.values())
        typer.echo(f"[{done}/{total}] {arm} {found.task_id}: {found.n_train} rows, {seconds:.1f} CPU s{more}", err=True)

    try:
        return await run_study(study, backend, out, jobs=at_once, on_done=tell)
    finally:
        await backend.aclose()
