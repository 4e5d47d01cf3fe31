"""``sandmle upload``: tasks as a dataset in LangSmith."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["upload_command"]


def upload_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A task, or a folder of tasks.")],
    dataset: Annotated[str, typer.Option("--dataset", metavar="NAME", help="The dataset in LangSmith.")],
) -> None:
    """Add tasks to a LangSmith dataset: briefs and thresholds, never answers or rules. Needs LANGSMITH_API_KEY."""
    from sandmle.langsmith import upload_dataset
    from sandmle.task import load_tasks

    tasks = load_tasks(folder)

    def show(done: int) -> None:
        typer.echo(f"{done}/{len(tasks)} tasks", err=True)

    added, before = upload_dataset(tasks, dataset, on_progress=show)
    typer.echo(f"{dataset}: {added} tasks added" + (f", {before} were there" if before else ""))
