"""``sandmle experiment``: arms that are declared beforehand, trained alike and compared."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["experiment_command", "run_experiment"]


def experiment_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A TOML file, or a bundled experiment: demo-cpu.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The experiment's folder; resumed if unfinished.")],
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="DIR", help="Tasks to use in place of making some.")
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", metavar="N,...", help="In place of the file's.")] = None,
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the policy's code even where nothing shuts it in.")
    ] = False,
) -> None:
    """Train and measure the arms of FILE, and print what each earns, good or bad. The same command goes on."""
    from sandmle.errors import BadInput

    if seeds is not None and not all(part.strip().isdecimal() for part in seeds.split(",")):
        raise BadInput(f"--seeds: give numbers from 0 such as 0,1,2, not {seeds!r}")
    chosen = tuple(int(part) for part in seeds.split(",")) if seeds is not None else None
    if chosen is not None and len(set(chosen)) < len(chosen):
        raise BadInput(f"--seeds {seeds}: a seed is named twice")
    run_experiment(file, out, seeds=chosen, tasks=tasks, controls=True, allow_unisolated=allow_unisolated)


def run_experiment(
    file: str,
    out: Path,
    *,
    seeds: tuple[int, ...] | None,
    tasks: Path | None,
    controls: bool,
    allow_unisolated: bool,
    updates: int | None = None,
    dry_run: bool = False,
) -> None:
    """Run an experiment and print its table; Ctrl-C leaves what is finished. A dry run prints its settings."""
    from sandmle.errors import BadInput
    from sandmle.rl.experiments import ExperimentSettings

    if updates is not None and ExperimentSettings.load(file).train.grpo is None:
        raise BadInput(f"--updates: {file} has no [train.grpo]")
    changes: dict[str, object] = {"seeds": seeds} if seeds is not None else {}
    if updates is not None:
        changes["train"] = {"grpo": {"updates": updates}}
    settings = ExperimentSettings.load(file, changes)
    if dry_run:
        typer.echo(settings.model_dump_json(indent=2))
        return
    from sandmle.rl.experiments.running import aexperiment  # PyTorch takes seconds; a wrong file is told at once

    try:
        report = asyncio.run(
            aexperiment(
                settings,
                out,
                controls=controls,
                tasks=tasks,
                tell=lambda line: typer.echo(line, err=True),
                allow_unisolated=allow_unisolated,
            )
        )
    except KeyboardInterrupt:
        typer.echo(f"stopped; the same command goes on with {out}", err=True)
        gc.freeze()
        raise typer.Exit(130) from None
    typer.echo(report.to_markdown())
    typer.echo(f"{out}: report.md, report.json, curves.png; the policies are in seed-N/ARM/policy", err=True)
