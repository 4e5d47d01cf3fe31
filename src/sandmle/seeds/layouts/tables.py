"""Tables: numbers, categories and texts, all in train.csv and test.csv."""

from __future__ import annotations

from sandmle.seeds._table import SeedTable
from sandmle.seeds.layouts._layout import LaidOut, register

__all__ = ["plain"]


@register("tabular", "text")
def plain(table: SeedTable) -> LaidOut:
    """As it is."""
    return LaidOut(table)
