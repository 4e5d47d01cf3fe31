"""``sandmle demo``: the whole loop in a few minutes, with no key, no GPU and no Docker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli.synthesize import DEFAULT_SEEDS, make_tasks, parse_jobs
from sandmle.errors import NegativeVerdict

if TYPE_CHECKING:
    from sandmle.eval.report import Report

__all__ = ["demo_command"]

TASKS = 12
POLICIES = ("scripted:dummy", "scripted:linear", "scripted:gbdt", "scripted:best", "scripted:informed")


def demo_command(
    seed: Annotated[int, typer.Option("--seed", help="Fixes everything but wall time.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where tasks and run go; by default ./sandmle-demo-SEED."),
    ] = None,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
) -> None:
    """Make 12 tasks from five real data sets, let five scripted policies solve them, and print the table."""
    from sandmle.cli.report import print_report

    folder = out or Path(f"sandmle-demo-{seed}")
    try:
        report = _play(folder, seed, parse_jobs(jobs))
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    print_report(report)
    typer.echo(f"tasks in {folder / 'tasks'}, run in {folder / 'run'}; look at one with `sandmle show`")
    _verdict(report)


def _play(folder: Path, seed: int, jobs: int) -> Report:
    import asyncio

    from sandmle.cli._progress import eval_progress
    from sandmle.eval.report import summarize
    from sandmle.eval.runner import EvalSettings, aevaluate
    from sandmle.graphs.synthesis import Batch

    batch = Batch.open(folder / "tasks", [DEFAULT_SEEDS], n=TASKS, seed=seed, n_train=200, n_test=2000)
    typer.echo(f"making {TASKS} tasks from {DEFAULT_SEEDS} ...", err=True)
    make_tasks(batch, TASKS, jobs)
    settings = EvalSettings(suite=f"synthetic:{folder / 'tasks'}", models=POLICIES, seed=seed)
    typer.echo(f"rolling out {len(POLICIES)} scripted policies ...", err=True)
    with eval_progress() as on_event:
        run = asyncio.run(aevaluate(settings, folder / "run", on_event=on_event, jobs=jobs, allow_unisolated=True))
    return summarize([run])


def _verdict(report: Report) -> None:
    """Say whether the demo shows what it should: generic policies beat the dummy, the informed one beats them."""
    means = {row.policy: row.reward.mean for row in report.rows if row.reward is not None}
    dummy, informed = means[POLICIES[0]], means[POLICIES[-1]]
    generic = [means[policy] for policy in POLICIES[1:-1]]
    if not dummy < min(generic) <= max(generic) < informed:
        raise NegativeVerdict("the policies are not in the expected order: dummy < linear, gbdt, best < informed")
    typer.echo("in order: dummy < linear, gbdt, best < informed")
