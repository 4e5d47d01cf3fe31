"""Times and costs in a few words, as every display of progress says them."""

from __future__ import annotations

__all__ = ["spell_cost", "spell_time"]


def spell_time(seconds: float) -> str:
    """A duration, rounded: such as ``40 s``, ``7 min`` or ``2 h 5 min``."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{round(seconds)} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def spell_cost(tokens: int, money: float) -> str:
    """Tokens of language models and their price; empty where there are none."""
    if not tokens:
        return ""
    return f"{tokens:,} tokens" + (f", {money:.2f} by the given prices" if money else "")
