"""``sandmle export``: tasks and episodes in the layouts of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sandmle.errors import BadInput

__all__ = ["app"]

app = typer.Typer(name="export", help="Tasks and episodes in the layouts of others.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """Tasks and episodes in the layouts of others."""


@app.command("tasks", epilog="Example: sandmle export tasks --format mlebench tasks exported")
def tasks_command(
    folder: Annotated[Path, typer.Argument(metavar="TASKS", help="A task, or a folder of tasks.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder that gets the export.")],
    layout: Annotated[
        Literal["mlebench", "released", "rllm", "verl"],
        typer.Option(
            "--format",
            help="mlebench: registry entries and data that MLE-bench grades; released: as the SandMLE authors released"
            " theirs, with the answers outside the public folder; rllm: a dataset of its registry; verl: its tables.",
        ),
    ] = "mlebench",
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="NAME", help="rllm, verl: a split of `sandmle split`, such as paper."),
    ] = None,
) -> None:
    """Write tasks for MLE-bench, in the SandMLE authors' released layout, or as a dataset of rLLM or verl."""
    from sandmle.eval.export import export_mlebench, export_released
    from sandmle.rl.exports import export_tasks
    from sandmle.task import load_tasks

    if layout == "rllm" or layout == "verl":
        found = export_tasks(folder, out, layout, split)
        typer.echo(f"{', '.join(f'{count} {name}' for name, count in found.items())} tasks in {out}")
        return
    if split is not None:
        raise BadInput(f"--split: {layout} holds all tasks; it goes with --format rllm or verl")
    tasks = load_tasks(folder)
    (export_mlebench if layout == "mlebench" else export_released)(tasks, out)
    typer.echo(f"{len(tasks)} tasks in {out}")
    if layout == "released":
        typer.echo(f"python {out}/ID/evaluator/evaluator.py --submission_path submission.csv scores a submission")
        return
    typer.echo(f"copy {out}/competitions/* into mlebench/competitions of a checkout of MLE-bench; then")
    typer.echo(f"mlebench grade --submission submissions.jsonl --output-dir reports --data-dir {out}/data")


@app.command("episodes", epilog="Example: sandmle export episodes run exported --format sft --valid --min-reward 0.5")
def episodes_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run of `eval`, or a training with transcripts.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New folder for the export.")],
    layout: Annotated[
        Literal["sft", "rllm", "verl"],
        typer.Option("--format", help="sft: chat messages with loss masks; rllm: its records; verl: its tables."),
    ] = "sft",
    min_reward: Annotated[float, typer.Option("--min-reward", min=0, max=1, help="Least reward.")] = 0.0,
    valid: Annotated[bool, typer.Option("--valid", help="Only episodes whose submission is valid.")] = False,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Longest conversation, at four characters a token.")
    ] = None,
    mask_failed: Annotated[
        bool, typer.Option("--mask-failed", help="sft: don't learn replies whose code failed or that have no action.")
    ] = False,
) -> None:
    """Write episodes to train on elsewhere; masked ones and those that saw hidden labels are left out."""
    from sandmle.rl.exports import Selection, export_episodes

    selection = Selection(min_reward=min_reward, valid=valid, max_tokens=max_tokens, learn_failed_steps=not mask_failed)
    found = export_episodes(folder, out, layout, selection)
    typer.echo(f"{found.kept} episodes in {out}" + (f"; left out: {found.told}" if found.told else ""))
