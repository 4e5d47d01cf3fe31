"""``sandmle report``: what one or several runs showed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sandmle.eval.report import Report

__all__ = ["print_report", "report_command"]


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders of `sandmle eval`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it to FILE, as Markdown unless --json.")
    ] = None,
) -> None:
    """Show what runs showed: medals and rewards with intervals, differences, behaviour and cost."""
    from sandmle.eval.report import render_markdown, summarize
    from sandmle.files import disk_errors, write_text

    report = summarize(runs)
    if out is not None:
        with disk_errors(out):
            write_text(out, report.to_text() if as_json else render_markdown(report))
        typer.echo(f"wrote {out}", err=True)
    elif as_json:
        typer.echo(report.to_text(), nl=False)
    else:
        print_report(report)


def print_report(report: Report) -> None:
    """Print the report for people on standard output."""
    from rich.console import Console

    from sandmle.eval.report import render_terminal

    Console().print(render_terminal(report))
