"""The report for a terminal, drawn with rich."""

from __future__ import annotations

import rich.box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from sandmle.eval.report._record import Report
from sandmle.eval.report._tables import Table, footnotes, headline, tables

__all__ = ["render_terminal"]


_COLUMNS = rich.box.Box("    \n    \n ── \n    \n    \n ── \n    \n    \n")


def render_terminal(report: Report) -> RenderableType:
    """The report as something that a rich console prints."""
    first, *others = headline(report)
    parts: list[RenderableType] = [Text(first, style="bold"), *map(Text, others)]
    for table in tables(report):
        parts += [Text(), _table(table)]
    parts += [Text(), *(_note(line) for line in footnotes(report))]
    return Group(*parts)


def _table(table: Table) -> RichTable:
    drawn = RichTable(title=Text(table.title), title_justify="left", box=_COLUMNS, show_edge=False, padding=0)
    for number, header in enumerate(table.headers):
        drawn.add_column(Text(header), justify="left" if number == 0 else "right", no_wrap=number > 0, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def _note(line: str) -> Text:
    return Text(line, style="bold red" if line.startswith("LEAK") else "dim")
