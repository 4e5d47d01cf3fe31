"""Sequence to sequence: what becomes of each token is learnt from the pairs as a list of decisions.

Ideas, in this order: a dictionary of tokens; a way of writing for each kind of token; and, for a token or kind that is
still wrong at times, a condition (a neighbour, place, word elsewhere, another column, size of the number) that parts
its ways of writing. Each is cross-validated by rows on the share of right tokens and kept if that rises.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.aligning import Token, align, tokens_of
from sandmle.eval.acceptance.search.decisions import KEEP, MIN_SUPPORT, Case, Group, Rule, signs_of
from sandmle.eval.acceptance.search.facts import Facts
from sandmle.eval.acceptance.search.layout import feature_columns, read_tables

__all__ = ["text_submissions"]

FOLDS = 5
DEPTH = 3
WHOLES: dict[str, Any] = {
    "as it is": lambda words: words,
    "backwards": lambda words: words[::-1],
    "sorted": sorted,
    "sorted by length": lambda words: sorted(words, key=len),
    "last first": lambda words: words[-1:] + words[:-1],
    "first last": lambda words: words[1:] + words[:1],
    "swapped ends": lambda words: words[-1:] + words[1:-1] + words[:1] if len(words) > 1 else words,
    "each once": lambda words: list(dict.fromkeys(words)),
    "by two": lambda words: [w for i in range(0, len(words), 2) for w in words[i : i + 2][::-1]],
}


class Rewriter:
    """Training cases, the rules in force, and the ideas left."""

    def __init__(self, cases: list[Case], rows: int) -> None:
        self.cases = cases
        self.fold = np.random.default_rng(0).permutation(rows) % FOLDS
        self.by_kind: dict[str, list[Case]] = {}
        self.by_text: dict[str, list[Case]] = {}
        self.groups: dict[tuple[str, int], Group] = {}
        self.crossed: dict[tuple[str, int, int], int] = {}
        for case in cases:
            self.by_kind.setdefault(case.token.kind, []).append(case)
            self.by_text.setdefault(case.token.text, []).append(case)

    def group(self, name: str, cases: list[Case]) -> Group:
        """The cases of one rule, put into matrices once."""
        key = (name, len(cases))
        if key not in self.groups:
            self.groups[key] = Group(cases)
        return self.groups[key]

    def learn(self, name: str, cases: list[Case], depth: int) -> Rule:
        """The rule of all of these cases."""
        return self.group(name, cases).learn(np.arange(len(cases)), depth)

    def cross(self, name: str, cases: list[Case], depth: int) -> int:
        """Cases that a rule learnt from the other rows gets right."""
        key = (name, len(cases), depth)
        if key not in self.crossed:
            group, right = self.group(name, cases), 0
            fold = self.fold[group.rows]
            for k in range(FOLDS):
                rule = group.learn(np.flatnonzero(fold != k), depth)
                right += sum(rule.apply(cases[i]) == cases[i].piece for i in np.flatnonzero(fold == k))
            self.crossed[key] = right
        return self.crossed[key]

    def run(self, budget: int) -> dict[str, Rule]:
        """Rules by token (its text) or kind (``kind`` and its name), learnt with at most ``budget`` ideas."""
        rules: dict[str, Rule] = {}
        right: dict[str, int] = {}
        if budget > 0:
            self.dictionary(rules, right)
            budget -= 1
        for kind in sorted(self.by_kind, key=lambda k: (-self.wrong(self.by_kind[k], rules), k)):
            left = [case for case in self.by_kind[kind] if case.token.text not in rules]
            if budget <= 0 or self.wrong(left, rules) == 0:
                break
            budget -= 1
            kept = sum(Rule(KEEP).apply(case) == case.piece for case in left)
            crossed = self.cross(f"kind {kind}", left, 0)
            right[f"kind {kind}"] = max(kept, crossed)
            rules[f"kind {kind}"] = self.learn(f"kind {kind}", left, 0) if crossed > kept else Rule(KEEP)
        for depth in range(1, DEPTH + 1):
            budget = self.deepen(rules, right, depth, budget)
        return rules

    def deepen(self, rules: dict[str, Rule], right: dict[str, int], depth: int, budget: int) -> int:
        """Try conditions where most is wrong; returns the budget that is left."""
        groups: dict[str, list[Case]] = {}
        for case in self.cases:
            groups.setdefault(name_of(case.token, rules), []).append(case)
        for text, cases in self.by_text.items():
            if text not in rules and len(cases) > 2 * MIN_SUPPORT and self.wrong(cases, rules) >= 2:
                groups[text] = cases
        for name in sorted(groups, key=lambda n: (-self.wrong(groups[n], rules), n)):
            cases = [case for case in groups[name] if name_of(case.token, rules) in (name, f"kind {case.token.kind}")]
            if budget <= 0 or self.wrong(cases, rules) < 2:
                break
            budget -= 1
            before = right.get(name, len(cases) - self.wrong(cases, rules))
            crossed = self.cross(name, cases, depth)
            if crossed > before:
                right.pop(f"kind {cases[0].token.kind}", None)
                rules[name], right[name] = self.learn(name, cases, depth), crossed
        return budget

    def wrong(self, cases: list[Case], rules: dict[str, Rule]) -> int:
        """Cases that the rules get wrong."""
        return sum(rules.get(name_of(case.token, rules), Rule(KEEP)).apply(case) != case.piece for case in cases)

    def dictionary(self, rules: dict[str, Rule], right: dict[str, int]) -> None:
        """One way of writing for every token that was seen often enough to be learnt by itself."""
        for text, cases in self.by_text.items():
            kept = sum(Rule(KEEP).apply(case) == case.piece for case in cases)
            crossed = self.cross(text, cases, 0) if kept < len(cases) else 0
            if len({case.row for case in cases}) >= 2 and kept < len(cases) and crossed > kept:
                rules[text], right[text] = self.learn(text, cases, 0), crossed


def name_of(token: Token, rules: dict[str, Rule]) -> str:
    """The rule that a token falls under: its own, else that of its kind."""
    return token.text if token.text in rules else f"kind {token.kind}"


def text_submissions(facts: Facts, budgets: list[int]) -> dict[int, pd.DataFrame]:
    """Learn for each budget and rewrite the test texts."""
    train, test = read_tables(facts)
    targets = list(train[facts.target].astype(str))
    names = feature_columns(facts, train, test)
    texts = [c for c in names if not pd.api.types.is_numeric_dtype(train[c])]
    source = max(
        texts, key=lambda c: overlap([str(x) for x in train[c].fillna("")], targets) + 1e-6 * train[c].nunique()
    )
    if facts.style == "dummy":
        constant = max(sorted(set(targets)), key=lambda t: (targets.count(t), -len(t)))
        return {k: filled(facts, test, [constant] * len(test)) for k in budgets}
    whole = best_whole(list(train[source].fillna("").astype(str)), targets)
    sources = [[reordered(str(x), whole) for x in frame[source].fillna("")] for frame in (train, test)]
    levels = [context(frame, names, source, train) for frame in (train, test)]
    if facts.style != "search":
        budgets_used = {"linear": 0, "gbdt": 1}.get(facts.style, 8)
    cases, asked = gathered(sources[0], targets, levels[0], sources[1], levels[1])
    work = Rewriter(cases, len(train))
    found = {}
    for budget in budgets:
        rules = work.run(budget if facts.style == "search" else budgets_used)
        found[budget] = filled(facts, test, [rewritten(row, rules) for row in asked])
    return found


def filled(facts: Facts, test: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    """The table to submit; an empty text is written as a blank mark that can be read back."""
    return pd.DataFrame({facts.id_column: test[facts.id_column], facts.columns[0]: [text or "-" for text in texts]})


def overlap(texts: list[str], targets: list[str]) -> float:
    """How much of the targets' words a column's texts hold."""
    pairs = list(zip(texts, targets, strict=True))[:60]
    return float(np.mean([len(set(a.split()) & set(b.split())) / max(len(set(b.split())), 1) for a, b in pairs]))


def best_whole(sources: list[str], targets: list[str]) -> str:
    """The order of words that brings the sources nearest to the targets; as it is unless another is clearly better."""

    def same(name: str) -> float:
        pairs = [(WHOLES[name](a.split()), b.split()) for a, b in zip(sources, targets, strict=True)]
        return float(
            np.mean([sum(x == y for x, y in zip(a, b, strict=False)) / max(len(a), len(b), 1) for a, b in pairs])
        )

    scores = {name: same(name) for name in WHOLES}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > scores["as it is"] + 0.15 else "as it is"


def reordered(text: str, whole: str) -> str:
    """A text with its words in another order."""
    return text if whole == "as it is" else " ".join(WHOLES[whole](text.split()))


def context(frame: pd.DataFrame, names: list[str], source: str, train: pd.DataFrame) -> list[tuple[str, ...]]:
    """The other columns of each row, as signs; numbers by whether they exceed their quartiles."""
    rows: list[list[str]] = [[] for _ in range(len(frame))]
    for name in (n for n in names if n != source):
        if pd.api.types.is_numeric_dtype(train[name]):
            for cut in np.nanquantile(train[name], (0.25, 0.5, 0.75)):
                for row, value in zip(rows, frame[name], strict=True):
                    row += [f"{name} > {cut:.6g}"] if value > cut else []
        elif train[name].nunique() <= 20:
            for row, value in zip(rows, frame[name].fillna("missing"), strict=True):
                row.append(f"{name} = {value}")
    return [tuple(row) for row in rows]


def gathered(
    sources: list[str],
    targets: list[str],
    levels: list[tuple[str, ...]],
    unseen: list[str],
    unseen_levels: list[tuple[str, ...]],
) -> tuple[list[Case], list[list[Case]]]:
    """Training cases of all pairs that can be aligned, and the cases of each test text."""
    split, goals = [tokens_of(text) for text in sources], [tokens_of(text) for text in targets]
    words = Counter(w for tokens in split for w in {t.text.lower() for t in tokens})
    frequent = {w for w, count in words.items() if count >= MIN_SUPPORT}
    seen: Counter[tuple[str, str]] = Counter()
    for _ in range(2):
        aligned = [align(a, b, seen) for a, b in zip(split, goals, strict=True)]
        seen = Counter((t.text, p.text) for a, found in zip(split, aligned, strict=True) if found
                       for t, p in zip(a, found, strict=True))  # fmt: skip
    cases = []
    for row, (tokens, pieces) in enumerate(zip(split, aligned, strict=True)):
        if pieces:
            for token, signs, piece in zip(tokens, signs_of(tokens, levels[row], frequent), pieces, strict=True):
                cases.append(Case(row, token, signs, piece))
    asked = []
    for row, text in enumerate(unseen):
        tokens = tokens_of(text)
        found = signs_of(tokens, unseen_levels[row], frequent)
        asked.append([Case(row, t, s, None) for t, s in zip(tokens, found, strict=True)])
    return cases, asked


def rewritten(cases: list[Case], rules: dict[str, Rule]) -> str:
    """A text, token by token."""
    text = ""
    for case in cases:
        piece = rules.get(name_of(case.token, rules), Rule(KEEP)).apply(case)
        text += (" " if piece.blank and text and piece.text else "") + piece.text
    return text.strip()
