"""``sandmle card``: what a folder of tasks holds and how it came to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["card_command"]


def card_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of tasks that `sandmle synthesize` made.")],
) -> None:
    """Write DIR/dataset.json and DIR/README.md with plots: yield, difficulty, diversity, readiness, cost."""
    from sandmle.graphs.synthesis.card import write_card

    typer.echo(write_card(folder))
