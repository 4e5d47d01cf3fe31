"""``sandmle report``: what one or several runs showed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli._console import output_console
from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.eval.report import Report

__all__ = ["print_report", "report_command"]


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders of `sandmle eval`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    out: Annotated[
        list[Path],
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write it to FILE (.md, .csv, .json) or draw its curves (.svg); may be repeated.",
        ),
    ] = [],  # noqa: B006 - typer copies it
) -> None:
    """Show what runs showed: medals, rewards and scores with intervals, differences, behaviour and cost."""
    from sandmle.eval.report import Report, render_csv, render_markdown, render_svg, summarize
    from sandmle.files import disk_errors, write_text

    writers = {".md": render_markdown, ".csv": render_csv, ".json": Report.to_text, ".svg": render_svg}
    for file in out:
        if file.suffix not in writers:
            raise BadInput(f"--out {file}: give a file that ends in one of {', '.join(writers)}")
    report = summarize(runs)
    for file in out:
        with disk_errors(file):
            write_text(file, writers[file.suffix](report))
        typer.echo(f"wrote {file}", err=True)
    if as_json:
        typer.echo(report.to_text(), nl=False)
    elif not out:
        print_report(report)


def print_report(report: Report) -> None:
    """Print the report for people on standard output."""
    from sandmle.eval.report import render_terminal

    output_console().print(render_terminal(report))
