"""``sandmle compare``: two runs, paired by task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli._console import output_console

if TYPE_CHECKING:
    from sandmle.eval.report import Estimate

__all__ = ["compare_command"]

NUMBERS = ("reward", "any_medal", "headroom", "human_rank")
"""Differences of a comparison; those that no row has are not shown."""


def compare_command(
    one: Annotated[Path, typer.Argument(metavar="A", help="A run folder of `sandmle eval`.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another one under the same protocol and budget.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """What B has more than A: reward, medals and scores, paired by task, with 95 % intervals."""
    from rich.table import Table

    from sandmle.eval.report import compare

    found = compare(one, other)
    if as_json:
        typer.echo(json.dumps([row.model_dump(mode="json") for row in found], indent=2))
        return
    table = Table(title=f"{other} less {one}", title_justify="left", box=None, pad_edge=False)
    for header in ("scaffold", "policy"):
        table.add_column(header)
    numbers = [name for name in NUMBERS if any(getattr(row, name) is not None for row in found)]
    for header in ("tasks", *numbers):
        table.add_column(header.replace("_", " "), justify="right")
    for row in found:
        table.add_row(row.scaffold, row.policy, str(row.tasks), *(_shown(getattr(row, name)) for name in numbers))
    output_console().print(table)


def _shown(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    interval = "" if estimate.low is None else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    return f"{estimate.mean:+.3f}{interval}"
