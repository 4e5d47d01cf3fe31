"""``sandmle show``: one task, one episode or the tokens of a run, for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from sandmle.task import Task

__all__ = ["show_command"]


def show_command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="TASK", help="A task's folder; a transcript of an episode; the folder of a run."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Show a task: what it asks, its thresholds, what its baselines reached, and its brief.

    Of an episode or a run: turns, sampled tokens, and how often a prompt broke with what came before it.
    """
    if table := _trajectory(folder):
        from rich.console import Console

        Console().print(table)
        return
    from sandmle.task import Task

    task = Task.load(folder)
    if as_json:
        typer.echo(task.manifest.to_text(), nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(_facts(task))
    if (task.provenance / "calibration.json").exists():
        console.print(_ladder(task))
    brief = task.public / "description.md"
    if brief.exists():
        console.print(Markdown(brief.read_text(encoding="utf-8")))


def _trajectory(path: Path) -> Table | None:
    """The table of an episode or a run; None for whatever else is shown."""
    if path.is_file():
        from sandmle.cli._trajectory import episode_table

        return episode_table(path)
    if any((path / name).exists() for name in ("run.json", "train.json")):
        from sandmle.cli._trajectory import run_table

        return run_table(path)
    return None


def _facts(task: Task) -> Table:
    from rich.table import Table
    from rich.text import Text

    manifest, form = task.manifest, task.manifest.submission
    table = Table(title=manifest.title, show_header=False, title_justify="left")
    direction = "lower is better" if manifest.lower_is_better else "higher is better"
    lineage = manifest.lineage
    rows = {
        "id": manifest.id,
        "problem": f"{manifest.modality} {manifest.problem_type}",
        "metric": f"{manifest.metric} ({direction})",
        "submission": ", ".join((form.id_column, *form.prediction_columns)) if form else "as its own benchmark has it",
        "seed": f"{lineage.seed_id} ({lineage.seed_source})",
        "made by": f"{manifest.made_by.team} team, sandmle {manifest.made_by.versions.get('sandmle', '?')}",
        "flags": ", ".join(manifest.flags) or "none",
    }
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table


def _ladder(task: Task) -> Table:
    """Baselines and thresholds in one list, best first."""
    from rich.table import Table

    from sandmle.eval.acceptance import Calibration
    from sandmle.task import TIERS

    calibration = Calibration.read(task.provenance / "calibration.json")
    marks = {f"baseline {name}": rung.mean for name, rung in calibration.rungs.items()}
    marks["best possible (Bayes)"] = calibration.sign * calibration.bayes
    if task.manifest.thresholds is not None:
        marks |= {f"{tier.value} threshold": getattr(task.manifest.thresholds, tier.value) for tier in TIERS}
    table = Table("mark", task.manifest.metric, title="Ladder, best first", title_justify="left")
    for name, score in sorted(marks.items(), key=lambda item: -calibration.sign * item[1]):
        table.add_row(name, f"{score:.4f}")
    return table
