"""The kinds of text a lexicon file holds, each with the check that keeps it usable in prose, in a CSV and in code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

__all__ = [
    "Clause",
    "Decimals",
    "DictionaryLine",
    "Level",
    "Levels",
    "Name",
    "Names",
    "Phrase",
    "Question",
    "Text",
    "Word",
    "Words",
    "require_room",
    "require_unique",
]

READ_AS_MISSING = re.compile(r"#?n/a|#n/a n/a|#?na|<na>|-?nan|null|none|-?1\.#(ind|qnan)", re.IGNORECASE)
READ_AS_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
RESERVED = frozenset({"id", "usage", "canary", "step"})


def _one_line(text: str) -> str:
    if text != " ".join(text.split()):
        raise ValueError("must be one line without doubled, leading or trailing blanks")
    return text


def _survives_csv(level: str) -> str:
    """Refuse a level that a CSV round trip through pandas would change or turn into another type."""
    if re.search(r"[,\"'\n\r\t;]", level) or level != level.strip():
        raise ValueError(f"{level!r} has a comma, a quote, a semicolon or an outer blank")
    if READ_AS_MISSING.fullmatch(level) or READ_AS_BOOLEAN.fullmatch(level) or not re.search(r"[A-Za-z]", level):
        raise ValueError(f"{level!r} would be read back from CSV as missing, as a boolean or as a number")
    try:
        float(level)
    except ValueError:
        return level
    raise ValueError(f"{level!r} would be read back from CSV as a number")


def _distinct(levels: tuple[str, ...]) -> tuple[str, ...]:
    counts = Counter(level.lower() for level in levels)
    twice = sorted(level for level, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"levels must differ, also when case is ignored; more than once: {', '.join(twice)}")
    return levels


def _legal_column(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name!r} is a column that task files use themselves; choose another name")
    return name


def _no_stop(phrase: str) -> str:
    if phrase[-1] in ".!?:;,":
        raise ValueError(f"{phrase!r} is a phrase: it ends without a punctuation mark")
    return phrase


def require_unique(names: Iterable[str], what: str) -> None:
    """Raise ValueError that names each of ``names`` that occurs more than once."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{what} must be unique; more than once: {', '.join(twice)}")


def require_room(name: str, low: float, high: float, decimals: int) -> None:
    """Raise ValueError if fewer than 10 distinct values of ``decimals`` digits lie between ``low`` and ``high``."""
    if high - low < 10 * 10.0**-decimals:
        raise ValueError(f"{name}: range {low} to {high} has fewer than 10 distinct values")


Text = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
"""Free text on one line."""
Name = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=40), AfterValidator(_survives_csv),
    AfterValidator(_legal_column),
]  # fmt: skip
"""A legal column name in snake case."""
Names = Annotated[tuple[Name, ...], AfterValidator(_distinct)]
Question = Annotated[str, Field(pattern=r"^[A-Z][^.!?]*\?$"), AfterValidator(_one_line)]
"""One sentence that ends with a question mark."""
Level = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_survives_csv)]
"""A value of a category."""
Levels = Annotated[tuple[Level, ...], AfterValidator(_distinct)]
Decimals = Annotated[int, Field(ge=0, le=3)]
DictionaryLine = Annotated[str, Field(pattern=r"^[A-Z]"), AfterValidator(_one_line), AfterValidator(_no_stop)]
"""The line of a data dictionary: starts with a capital, ends without a mark."""
Phrase = Annotated[str, Field(pattern=r"^[a-z]"), AfterValidator(_one_line), AfterValidator(_no_stop)]
"""A noun phrase for the middle of a sentence; it carries its article ("a photograph of one shelf")."""
Word = Annotated[
    str, Field(pattern=r"^[a-z]+([ -][a-z]+)*$", max_length=40), AfterValidator(_survives_csv),
]  # fmt: skip
"""One to a few plain lower-case words with single blanks or hyphens between them."""
Words = Annotated[tuple[Word, ...], AfterValidator(_distinct)]
Clause = Annotated[str, Field(pattern=r"^[a-z][a-z -]*[a-z]\.$", max_length=90), AfterValidator(_one_line)]
"""A whole lower-case sentence with a full stop and no other mark; whoever writes it out puts the capital."""
