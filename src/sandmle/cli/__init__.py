"""The command line: parsing and printing only; what it does is in ``sandmle.api`` and below.

Every command imports what it needs when it runs, so that ``sandmle --help`` stays quick. Errors meant for people end as
one line on standard error and the exit code they carry; anything else is a defect of ours and keeps its traceback.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sandmle import __version__
from sandmle.cli.card import card_command
from sandmle.cli.check import check_command
from sandmle.cli.compare import compare_command
from sandmle.cli.demo import demo_command
from sandmle.cli.doctor import doctor_command
from sandmle.cli.evaluate import eval_command
from sandmle.cli.experiment import experiment_command
from sandmle.cli.export import app as export_app
from sandmle.cli.grade import grade_command
from sandmle.cli.imports import import_command
from sandmle.cli.matrix import matrix_command
from sandmle.cli.readiness import readiness_command
from sandmle.cli.report import report_command
from sandmle.cli.seeds import app as seeds_app
from sandmle.cli.serve import SERVE_CONTEXT, serve_command
from sandmle.cli.show import show_command
from sandmle.cli.split import split_command
from sandmle.cli.suites import app as suites_app
from sandmle.cli.synthesize import synthesize_command
from sandmle.cli.train import train_command
from sandmle.cli.upload import upload_command
from sandmle.errors import SandmleError

__all__ = ["app", "run"]

app = typer.Typer(
    name="sandmle",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: sandmle demo",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sandmle {__version__}")
        raise typer.Exit


@app.callback()
def main(
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Tell more on standard error.")] = False,
    log_file: Annotated[
        Path | None, typer.Option("--log-file", metavar="FILE", help="Also write a detailed log to FILE.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Make verified micro-scale machine-learning tasks, roll agents out on them, and measure."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setLevel(logging.INFO if verbose else logging.WARNING)
    if log_file is not None:
        try:
            handlers.append(logging.FileHandler(log_file))
        except OSError as error:
            raise typer.BadParameter(f"{log_file}: {error.strerror}", param_hint="--log-file") from error
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", handlers=handlers)
    logging.getLogger("sandmle").setLevel(logging.DEBUG if log_file else logging.INFO)


app.command("demo")(demo_command)
app.command("synthesize")(synthesize_command)
app.command("check")(check_command)
app.command("show")(show_command)
app.command("card")(card_command)
app.command("readiness")(readiness_command)
app.command("split")(split_command)
app.command("eval")(eval_command)
app.command("report")(report_command)
app.command("compare")(compare_command)
app.command("matrix")(matrix_command)
app.command("grade")(grade_command)
app.add_typer(seeds_app, name="seeds")
app.add_typer(suites_app, name="suites")
app.add_typer(export_app, name="export")
app.command("import")(import_command)
app.command("upload")(upload_command)
app.command("train")(train_command)
app.command("experiment")(experiment_command)
app.command("serve", context_settings=SERVE_CONTEXT)(serve_command)
app.command("doctor")(doctor_command)


def run() -> None:
    """Entry point: run the command line and exit."""
    try:
        app()
    except SandmleError as error:
        typer.echo(f"error: {error}", err=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    else:
        code = 0
    gc.freeze()  # the last collection would walk every object of the heavy libraries once more
    sys.exit(code)
