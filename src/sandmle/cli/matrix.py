"""``sandmle matrix``: policies against suites and scaffolds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli._console import output_console
from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.eval.report import Matrix, MatrixCell

__all__ = ["matrix_command"]


def matrix_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN[=NAME]...",
            help="Run folders of `sandmle eval`; NAME names the row in place of the policy's name.",
        ),
    ],
    value: Annotated[
        str, typer.Option("--value", help="What the cells hold: any_medal, reward, headroom or human_rank.")
    ] = "any_medal",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """One number of many runs: policies down, suites and scaffolds across, published figures beside ours."""
    from sandmle.eval.report import MATRIX_VALUES, matrix

    known = {name: name for name in MATRIX_VALUES}
    if value not in known:
        raise BadInput(f"--value {value}: choose from {', '.join(known)}")
    found = matrix([_named(text) for text in runs], known[value])
    if as_json:
        typer.echo(found.to_text(), nl=False)
    else:
        _print(found)


def _named(text: str) -> tuple[str, Path]:
    """The name of a run's row and its folder; a folder with a ``=`` in its name is one."""
    folder, _, name = text.rpartition("=")
    return (name, Path(folder)) if folder and not Path(text).exists() else ("", Path(text))


def _print(found: Matrix) -> None:
    from rich.table import Table

    table = Table(title=found.value.replace("_", " "), title_justify="left", box=None, pad_edge=False)
    table.add_column("policy")
    for suite, scaffold, protocol in found.columns:
        table.add_column(f"{suite}\n{scaffold}, {protocol}", justify="right")
    for row in found.rows:
        table.add_row(row, *(_shown(found.at(row, column)) for column in found.columns))
    output_console().print(table)


def _shown(cell: MatrixCell | None) -> str:
    if cell is None or cell.value is None:
        return "–"
    interval = "" if cell.value.low is None else f" [{cell.value.low:.2f}, {cell.value.high:.2f}]"
    beside = "" if cell.published is None else f", published {cell.published:.3f}"
    return f"{cell.value.mean:.3f}{interval}{beside}"
