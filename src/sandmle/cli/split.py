"""``sandmle split``: training and validation tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.rl.splits import Split

__all__ = ["split_command"]


def split_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of tasks.")],
    by: Annotated[
        Literal["iid", "family", "domain", "composition", "primitive"],
        typer.Option("--by", help="What no training task shares with validation; iid: drawn at random."),
    ] = "iid",
    validation: Annotated[
        str | None, typer.Option("--validation", metavar="N|SHARE", help="Validation tasks, such as 64 or 10%.")
    ] = None,
    preset: Annotated[
        Literal["paper"] | None, typer.Option("--preset", help="paper: iid, 848 and 64 tasks, or the same shares.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random choice.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="By default DIR/splits/<by>.json.")] = None,
    with_undiscoverable: Annotated[
        bool, typer.Option("--with-undiscoverable", help="Also use tasks whose rule no search finds.")
    ] = False,
) -> None:
    """Split tasks into training and validation and write the ids. Undiscoverable tasks are kept out of both."""
    from sandmle.files import disk_errors, write_text
    from sandmle.rl.splits import paper_split, read_traits, split_tasks
    from sandmle.task import load_tasks

    if preset is not None and (validation is not None or by != "iid"):
        raise BadInput("--preset paper says by and validation itself: leave --by and --validation out")
    traits = read_traits(load_tasks(folder))
    if preset is not None:
        found = paper_split(traits, seed, with_undiscoverable=with_undiscoverable)
    else:
        found = split_tasks(traits, by, validation or "10%", seed, with_undiscoverable=with_undiscoverable)
    target = out or folder / "splits" / f"{preset or by}.json"
    with disk_errors(target):
        write_text(target, found.to_text())
    _tell(found, target)


def _tell(found: Split, target: Path) -> None:
    typer.echo(f"{target}: {len(found.train)} training and {len(found.validation)} validation tasks")
    if len(found.validation) < found.asked:
        typer.echo(f"  {found.asked} validation tasks were asked for; what is held out allows no more")
    if found.held_out:
        typer.echo(f"  held out: {', '.join(found.held_out)}")
    if found.undiscoverable:
        typer.echo(f"  kept aside: {len(found.undiscoverable)} undiscoverable tasks")
    if found.spare:
        typer.echo(f"  kept aside: {len(found.spare)} tasks beyond the preset")
