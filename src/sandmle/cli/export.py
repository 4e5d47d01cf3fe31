"""``sandmle export``: tasks in the layouts of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["app"]

app = typer.Typer(name="export", help="Tasks in the layouts of others.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """Tasks in the layouts of others."""


@app.command("tasks", epilog="Example: sandmle export tasks --format mlebench tasks exported")
def tasks_command(
    folder: Annotated[Path, typer.Argument(metavar="TASKS", help="A task, or a folder of tasks.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder that gets the export.")],
    layout: Annotated[
        Literal["mlebench", "released"],
        typer.Option(
            "--format",
            help="mlebench: registry entries and data that MLE-bench grades; released: as the SandMLE authors released"
            " theirs, with the answers outside the public folder.",
        ),
    ] = "mlebench",
) -> None:
    """Write tasks as MLE-bench's registry entries and prepared data, or in the SandMLE authors' released layout."""
    from sandmle.eval.export import export_mlebench, export_released
    from sandmle.task import load_tasks

    tasks = load_tasks(folder)
    (export_mlebench if layout == "mlebench" else export_released)(tasks, out)
    typer.echo(f"{len(tasks)} tasks in {out}")
    if layout == "released":
        typer.echo(f"python {out}/ID/evaluator/evaluator.py --submission_path submission.csv scores a submission")
        return
    typer.echo(f"copy {out}/competitions/* into mlebench/competitions of a checkout of MLE-bench; then")
    typer.echo(f"mlebench grade --submission submissions.jsonl --output-dir reports --data-dir {out}/data")
