"""Which part of a target text each token of its source text became.

Equal tokens are anchors; between anchors, a monotone alignment of least cost gives each source token a run of target
tokens, where what a writer makes of a token, or what it was seen to become before, costs little.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from sandmle.eval.acceptance.search.spoken import WRITERS, kind_of

__all__ = ["Piece", "Token", "align", "tokens_of", "written"]

PIECE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)|\d{1,2}:\d{2}(?::\d{2})?|\d+(?:[.,]\d+)*"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]|_+"
)
LONGEST = 12
LARGEST_GAP = 600


@dataclass(frozen=True)
class Token:
    """A token and whether a blank stands before it."""

    text: str
    blank: bool
    kind: str


@dataclass(frozen=True)
class Piece:
    """What a source token became: text, and whether a blank stands before it."""

    text: str
    blank: bool


def tokens_of(text: str) -> list[Token]:
    """Dates, times, numbers, words and marks."""
    found = []
    for match in PIECE.finditer(text):
        before = match.start() > 0 and text[match.start() - 1].isspace()
        found.append(Token(match.group(), before, kind_of(match.group())))
    return found


_WRITTEN: dict[tuple[str, str], dict[str, str]] = {}


def written(token: Token) -> dict[str, str]:
    """What each writer of its kind makes of a token."""
    key = (token.kind, token.text)
    if key not in _WRITTEN:
        found = {}
        for name, writer in WRITERS[token.kind].items():
            try:
                found[name] = writer(token.text)
            except (ValueError, IndexError, OverflowError, KeyError):
                continue
        _WRITTEN[key] = found
    return _WRITTEN[key]


def joined(tokens: list[Token]) -> Piece:
    """Tokens as text."""
    text = "".join((" " if t.blank and i else "") + t.text for i, t in enumerate(tokens))
    return Piece(text, tokens[0].blank if tokens else False)


def align(source: list[Token], target: list[Token], seen: Counter[tuple[str, str]]) -> list[Piece] | None:
    """The piece of each source token, None where the two texts are too far apart."""
    a, b = [t.text for t in source], [t.text for t in target]
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    found: list[Piece] = []
    i = j = 0
    for block in blocks:
        if block.size or block.a == len(a):
            gap = align_gap(source[i : block.a], target[j : block.b], seen)
            if gap is None:
                return None
            extra = [] if i < block.a else target[j : block.b]
            if extra and found:
                last = found.pop()
                text = joined(extra)
                found.append(Piece(last.text + (" " if text.blank else "") + text.text, last.blank))
                extra = []
            found += gap
            for k in range(block.size):
                piece = joined([*(extra if k == 0 else []), target[block.b + k]])
                found.append(piece)
            i, j = block.a + block.size, block.b + block.size
    return found


def align_gap(source: list[Token], target: list[Token], seen: Counter[tuple[str, str]]) -> list[Piece] | None:
    """The cheapest monotone way to give each source token a run of target tokens."""
    m, n = len(source), len(target)
    if m == 0:
        return []
    if m == 1:
        return [joined(target)]
    if m * (n + 1) > LARGEST_GAP:
        return None
    best = [[1e9] * (n + 1) for _ in range(m + 1)]
    back = [[0] * (n + 1) for _ in range(m + 1)]
    best[0][0] = 0.0
    for i, token in enumerate(source):
        known = {text.lower() for text in written(token).values() if text}
        for j in range(n + 1):
            if best[i][j] >= 1e9:
                continue
            for k in range(j, min(n, j + LONGEST) + 1):
                cost = best[i][j] + price(token, target[j:k], known, seen)
                if cost < best[i + 1][k]:
                    best[i + 1][k], back[i + 1][k] = cost, j
    if best[m][n] >= 1e9:
        return None
    found, k = [], n
    for i in range(m, 0, -1):
        found.append(joined(target[back[i][k] : k]))
        k = back[i][k]
    return found[::-1]


def price(token: Token, run: list[Token], known: set[str], seen: Counter[tuple[str, str]]) -> float:
    """What it costs that a token becomes a run of tokens."""
    if not run:
        return 0.9 if token.kind == "mark" else 1.5
    text = joined(run).text
    if text == token.text:
        return 0.0
    if text.lower() in known:
        return 0.1
    if seen[token.text, text] >= 2:
        return 0.3
    alike = token.text[:1].lower() == text[:1].lower()
    return 1.2 + 0.25 * len(run) + (0.6 if token.kind == "mark" else 0.0) - (0.3 if alike else 0.0)
