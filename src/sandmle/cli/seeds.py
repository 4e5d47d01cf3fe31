"""``sandmle seeds``: list, show and add the real tasks that synthesis starts from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli._console import output_console

if TYPE_CHECKING:
    from sandmle.seeds import Seed

__all__ = ["app"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

app = typer.Typer(
    name="seeds", help="List, show and add the real tasks that synthesis starts from.", no_args_is_help=True
)


@app.command("list", epilog="Example: sandmle seeds list --json")
def list_command(as_json: Json = False) -> None:
    """List all seeds, with the command that installs those whose data are missing."""
    from sandmle.seeds import list_seeds

    seeds = list_seeds()
    if as_json:
        _print_json([_summary(seed) for seed in seeds])
    else:
        _print_table(seeds)


@app.command("show", epilog="Example: sandmle seeds show iris")
def show_command(
    seed_id: Annotated[str, typer.Argument(metavar="ID", help="A seed's id, as `sandmle seeds list` shows it.")],
    as_json: Json = False,
) -> None:
    """Show one seed: its facts and its whole description."""
    from sandmle.seeds import get_seed

    seed = get_seed(seed_id)
    if as_json:
        _print_json({**_summary(seed), "description": seed.description})
    else:
        _print_seed(seed)


@app.command(
    "add",
    epilog="Examples: sandmle seeds add ./my-task · sandmle seeds add --mlebench ./mle-bench --split medium",
)
def add_command(
    path: Annotated[
        Path | None,
        typer.Argument(help="A folder with description.md, train.csv, test.csv, sample_submission.csv."),
    ] = None,
    mlebench: Annotated[
        Path | None,
        typer.Option("--mlebench", metavar="PATH", help="A checkout of MLE-bench; none of its code is run."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--split", help="MLE-bench entries: all-but-lite (default), all, lite or low, medium, high, dev."),
    ] = None,
) -> None:
    """Add a folder of your own, or the entries of an MLE-bench checkout; the same id again replaces."""
    from sandmle.errors import BadInput

    if (path is None) == (mlebench is None):
        raise BadInput("seeds add: give either the PATH of a folder or --mlebench PATH")
    if mlebench is not None:
        _add_mlebench(mlebench, split or "all-but-lite")
    elif path is not None:
        if split is not None:
            raise BadInput("seeds add: --split goes with --mlebench only")
        _add_folder(path)


def _add_folder(path: Path) -> None:
    from sandmle.seeds import add_folder

    seed = add_folder(path)
    typer.echo(f"added {seed.id}: {seed.problem_type}, {seed.metric}, {seed.n_rows} rows, target {seed.target}")
    for note in seed.notes:
        typer.echo(f"  inferred {note}")


def _add_mlebench(path: Path, split: str) -> None:
    from sandmle.seeds import add_mlebench

    seeds = add_mlebench(path, split)
    typer.echo(f"added {len(seeds)} MLE-bench entries (split {split}); they are descriptions without data")


def _summary(seed: Seed) -> dict[str, object]:
    """What ``--json`` prints of a seed: all but the description, and what must be installed."""
    from sandmle.seeds import missing_install

    return {**seed.model_dump(mode="json", exclude={"description", "schema_version"}), "needs": missing_install(seed)}


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _print_table(seeds: list[Seed]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from sandmle.seeds import missing_install

    table = Table("id", "source", "modality", "problem", "metric", "rows", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"
    table.columns[-1].justify = "right"
    table.columns[-1].no_wrap = True
    hints: dict[str, str] = {}
    for seed in seeds:
        hint = missing_install(seed)
        if hint is not None:
            hints[seed.extra or ""] = hint
        rows = f"needs {_needed(seed)}" if hint is not None else _or_dash(seed.n_rows)
        cells = (seed.id, seed.source, _or_dash(seed.modality), _or_dash(seed.problem_type), seed.metric, rows)
        table.add_row(*map(escape, cells))
    console = output_console()
    console.print(table)
    for name, hint in hints.items():
        console.print(f"{name}: {hint}", markup=False, highlight=False, soft_wrap=True)


def _needed(seed: Seed) -> str:
    return f"sandmle[{seed.extra}]" if seed.extra == "datasets" else str(seed.extra)


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _print_seed(seed: Seed) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from sandmle.seeds import missing_install

    better = "smaller" if seed.lower_is_better else "larger"
    facts = {
        "id": seed.id,
        "family": seed.family,
        "source": seed.source + (f" ({seed.split})" if seed.split else ""),
        "modality": _or_dash(seed.modality),
        "problem": _or_dash(seed.problem_type),
        "metric": f"{seed.metric}, {better} is better",
        "target": _or_dash(seed.target),
        "classes": ", ".join(seed.classes) or "-",
        "rows": _or_dash(seed.n_rows),
        "path": _or_dash(seed.path),
        "needs": missing_install(seed),
        "inferred": "\n".join(seed.notes) or None,
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        if value is not None:
            table.add_row(name, escape(value))
    console = Console()
    console.print(seed.title, style="bold", markup=False)
    console.print(table)
    console.print()
    console.print(seed.description, markup=False, highlight=False)
