"""Decisions on how a token is written: a way of writing, or a sign that parts two ways."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.acceptance.search.aligning import Piece, Token, written

__all__ = ["KEEP", "MIN_SUPPORT", "Case", "Group", "Rule", "signs_of"]

MIN_SUPPORT = 3
MAX_WAYS = 200
MAX_SIGNS = 500
KEEP = ("", "keep", "", "same")

Way = tuple[str, str, str, str]
"""Text before, name of a writer (or ``=`` and a constant), text after, and whether a blank stands before it."""


@dataclass(frozen=True)
class Case:
    """A token where it stands, and what it became (None in test texts)."""

    row: int
    token: Token
    signs: frozenset[str]
    piece: Piece | None


@dataclass
class Rule:
    """A way of writing, or a sign that parts two rules."""

    way: Way
    sign: str = ""
    yes: Rule | None = None
    no: Rule | None = None

    def apply(self, case: Case) -> Piece:
        """What the token becomes."""
        if self.yes is not None and self.no is not None:
            return (self.yes if self.sign in case.signs else self.no).apply(case)
        return made(self.way, case.token)


def made(way: Way, token: Token) -> Piece:
    """A token written in some way; as it is if that can't be done."""
    before, name, after, blank = way
    text = name[1:] if name.startswith("=") else written(token).get(name, token.text)
    return Piece(before + text + after, token.blank if blank == "same" else blank == "yes")


def ways_of(case: Case) -> list[Way]:
    """Ways of writing that give what the token became; the plainest first."""
    piece = case.piece
    if piece is None:
        return []
    gap = [*(["same"] if piece.blank == case.token.blank else []), "yes" if piece.blank else "no"]
    found: list[Way] = []
    seen: set[tuple[str, str]] = set()
    for name, text in written(case.token).items():
        at = piece.text.find(text) if text else (0 if not piece.text else -1)
        if at < 0:
            continue
        ends = (piece.text[:at], piece.text[at + len(text) :])
        if ends == ("", "") or (len(text) > 1 and len(ends[0]) + len(ends[1]) < 30) or ends not in seen:
            found += [(ends[0], name, ends[1], mode) for mode in gap]
        seen.add(ends)
    return [*found, *(("", "=" + piece.text, "", mode) for mode in gap)]


class Group:
    """Cases that fall under one rule, with their possible ways and their signs as 0/1 matrices."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = cases
        self.rows = np.array([case.row for case in cases], dtype=np.int64)
        self.ways, self.fits = indicators([ways_of(case) for case in cases], MAX_WAYS, 1)
        self.signs, self.has = indicators([sorted(case.signs) for case in cases], MAX_SIGNS, MIN_SUPPORT)
        taste = [(w[1] == "keep", not w[1].startswith("="), -len(w[0]) - len(w[2]), w) for w in self.ways]
        self.taste = np.zeros(len(taste))
        self.taste[sorted(range(len(taste)), key=lambda i: taste[i])] = np.arange(len(taste)) / max(2 * len(taste), 1)

    def learn(self, rows: NDArray[np.int64], depth: int) -> Rule:
        """The way that fits most of these cases, parted by the best sign while that repairs at least two."""
        if not self.ways or not len(rows):
            return Rule(KEEP)
        fits = self.fits[rows]
        counts = fits.sum(axis=0)
        best = int(np.argmax(counts + self.taste))
        way, wrong = self.ways[best], len(rows) - counts[best]
        if depth == 0 or wrong < 2:
            return Rule(way)
        has = self.has[rows]
        number = has.sum(axis=0)
        usable = np.flatnonzero((number >= MIN_SUPPORT) & (number <= len(rows) - MIN_SUPPORT))
        if not len(usable):
            return Rule(way)
        inside = has[:, usable].T @ fits
        right = inside.max(axis=1) + (counts - inside).max(axis=1)
        lead = int(np.argmax(right))
        if right[lead] < counts[best] + 2:
            return Rule(way)
        sign = int(usable[lead])
        on = has[:, sign] > 0
        return Rule(way, self.signs[sign], self.learn(rows[on], depth - 1), self.learn(rows[~on], depth - 1))


def indicators(found: list[list[Any]], most: int, least: int) -> tuple[list[Any], NDArray[np.float32]]:
    """The commonest keys (in at least ``least`` rows) and which rows hold them."""
    counts = Counter(key for keys in found for key in set(keys))
    kept = sorted((key for key, count in counts.items() if count >= least), key=lambda key: (-counts[key], key))[:most]
    index = {key: i for i, key in enumerate(kept)}
    matrix = np.zeros((len(found), len(kept)), dtype=np.float32)
    for row, keys in enumerate(found):
        for key in keys:
            if key in index:
                matrix[row, index[key]] = 1.0
    return kept, matrix


def signs_of(tokens: list[Token], levels: tuple[str, ...], frequent: set[str]) -> list[frozenset[str]]:
    """What may decide how each token is written: neighbours, place, words elsewhere, other columns, form, size."""
    texts = [t.text.lower() for t in tokens]
    shared = {f"text has {w}" for w in set(texts) & frequent} | set(levels)
    shared |= {f"tokens > {n}" for n in (4, 8, 12, 16) if len(tokens) > n}
    if tokens:
        shared |= {f"text ends {texts[-1]}", f"text begins {texts[0]}"}
    found = []
    for i, token in enumerate(tokens):
        own = {f"before {texts[i - 1]}" if i else "first", f"after {texts[i + 1]}" if i + 1 < len(texts) else "last"}
        own |= {f"before kind {tokens[i - 1].kind}"} if i else set()
        own |= {f"after kind {tokens[i + 1].kind}"} if i + 1 < len(tokens) else set()
        own |= {f"second before {texts[i - 2]}"} if i > 1 else set()
        own |= {f"second after {texts[i + 2]}"} if i + 2 < len(texts) else set()
        own |= {f"earlier {w}" for w in set(texts[:i]) & frequent}
        own |= {f"kind {token.kind}", f"length {len(token.text)}", f"begins {texts[i][:1]}", f"ends {texts[i][-1:]}"}
        own |= {f"later {w}" for w in set(texts[i + 1 :]) & frequent}
        own |= {f"place > {k}" for k in range(min(i, 8))}
        own |= {"even place"} if i % 2 else set()
        own |= {"seen before"} if texts[i] in texts[:i] else set()
        own |= {"blank"} if token.blank else set()
        number = token if token.kind == "whole" else tokens[i - 1] if i and tokens[i - 1].kind == "whole" else None
        if number is not None:
            n, whose = int(number.text), "own" if number is token else "number before"
            own |= {
                f"{whose} > {cut}" for cut in (1, 2, 5, 9, 10, 12, 20, 31, 50, 99, 100, 500, 999, 1899, 1999) if n > cut
            }
            own |= {f"{whose} even"} if n % 2 == 0 else set()
            own |= {f"{whose} starts with 0"} if number.text.startswith("0") else set()
        found.append(frozenset(own | shared))
    return found
