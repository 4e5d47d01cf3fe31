"""Where tables are printed: as wide as the terminal, and wide enough for whole words in a pipe or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["output_console"]

PIPE_COLUMNS = 200


def output_console() -> Console:
    """A console on standard output."""
    from rich.console import Console

    found = Console()
    return found if found.is_terminal else Console(width=PIPE_COLUMNS)
