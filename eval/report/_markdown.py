"""The report as Markdown."""

from __future__ import annotations

from sandmle.eval.report._record import Report
from sandmle.eval.report._tables import Table, footnotes, headline, tables

__all__ = ["render_markdown"]


def render_markdown(report: Report) -> str:
    """The report as a Markdown text that ends with a newline."""
    parts = ["# Evaluation report", "\n".join(f"- {_escape(line)}" for line in headline(report))]
    parts += [_table(table) for table in tables(report)]
    notes = footnotes(report)
    if notes:
        parts.append("\n".join(f"- {_escape(note)}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    rule = ["---"] + ["---:"] * (len(table.headers) - 1)
    lines = [table.headers, rule, *table.rows]
    body = "\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in lines)
    return f"## {_escape(table.title)}\n\n{body}"


def _escape(text: str) -> str:
    """Keep a name's own characters from turning into table cells, emphasis or markup."""
    for character in "\\|`*_<":
        text = text.replace(character, "\\" + character)
    return text
