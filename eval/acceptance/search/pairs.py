"""Two texts side by side: what they share, what differs, and whether their order, numbers and negations agree."""

from __future__ import annotations

import itertools
from difflib import SequenceMatcher

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Array
from sandmle.eval.acceptance.search.texts import NEGATIONS, NUMBER, as_number, weighted_terms, words_of

__all__ = ["pair_features"]


def pair_features(source: str, first: list[str], second: list[str], n_train: int) -> pd.DataFrame:
    """All features of two text columns; weights of words come from the first ``n_train`` pairs."""
    a, b = [words_of(text) for text in first], [words_of(text) for text in second]
    rows = [compare(*row) for row in zip(first, second, a, b, strict=True)]
    columns: dict[str, Array] = {}
    for name, values in pd.DataFrame(rows).items():
        columns[f"{source} pair/{name}"] = values.to_numpy(np.float64)
    half = len(a)
    order = [*range(n_train), *range(half, half + n_train), *range(n_train, half), *range(half + n_train, 2 * half)]
    for name, terms in (("words", [*a, *b]), ("spelling", [grams(text) for text in (*first, *second)])):
        weighted = weighted_terms([terms[i] for i in order], 2 * n_train)[0]
        matrix = np.empty_like(weighted)
        matrix[order] = weighted
        columns[f"{source} pair/cosine of {name}"] = (matrix[:half] * matrix[half:]).sum(axis=1)
    return pd.DataFrame(columns)


def grams(text: str) -> list[str]:
    """Runs of three characters."""
    low = text.lower()
    return [low[i : i + 3] for i in range(len(low) - 2)]


def share(x: set[str], y: set[str]) -> float:
    """Jaccard's share of what two sets have in common."""
    return len(x & y) / max(len(x | y), 1)


def compare(text_a: str, text_b: str, a: list[str], b: list[str]) -> dict[str, float]:
    """Everything about one pair."""
    words_a, words_b = [w for w in a if w[0].isalpha()], [w for w in b if w[0].isalpha()]
    sa, sb = set(words_a), set(words_b)
    numbers_a, numbers_b = ([as_number(n) for n in NUMBER.findall(text)] for text in (text_a, text_b))
    long_a, long_b = ({w for w in s if len(w) > 3} for s in (sa, sb))
    blocks = SequenceMatcher(None, words_a, words_b, autojunk=False).get_matching_blocks()
    kept, longest = sum(block.size for block in blocks), max(block.size for block in blocks)
    n = max(len(words_a) + len(words_b), 1)
    shared = [w for w in words_b if w in sa]
    places = [words_a.index(w) for w in dict.fromkeys(shared)]
    rises = [float(x < y) for x, y in itertools.pairwise(places)]
    no_a, no_b = (sum(w in NEGATIONS or w.endswith("n't") for w in words) for words in (words_a, words_b))
    ga, gb = set(grams(text_a)), set(grams(text_b))
    found = {
        "jaccard": share(sa, sb),
        "shared": len(sa & sb),
        "first in second": len(sa & sb) / max(len(sa), 1),
        "second in first": len(sa & sb) / max(len(sb), 1),
        "long words": share(long_a, long_b),
        "long shared": len(long_a & long_b),
        "only first": len(sa - sb),
        "only second": len(sb - sa),
        "two words": share({" ".join(p) for p in itertools.pairwise(words_a)},
                           {" ".join(p) for p in itertools.pairwise(words_b)}),
        "spelling": share(ga, gb),
        "matched": 2 * kept / n,
        "longest run": longest,
        "edits": len(words_a) + len(words_b) - 2 * kept,
        "same order": float(np.mean(rises)) if rises else np.nan,
        "moved": 2 * (len(sa & sb) - kept) / n,
        "same places": sum(x == y for x, y in zip(words_a, words_b, strict=False)) / n,
        "length difference": len(words_b) - len(words_a),
        "length distance": abs(len(words_b) - len(words_a)),
        "length ratio": (len(text_b) + 1) / (len(text_a) + 1),
        "same first": float(words_a[:1] == words_b[:1]),
        "same last": float(words_a[-1:] == words_b[-1:]),
        "negations differ": abs(no_a - no_b),
        "one negated": float((no_a > 0) != (no_b > 0)),
        "both ask": float(text_a.endswith("?") and text_b.endswith("?")),
        "one asks": float(text_a.endswith("?") != text_b.endswith("?")),
        "same numbers": float(sorted(numbers_a) == sorted(numbers_b)),
        "numbers shared": share({str(x) for x in numbers_a}, {str(x) for x in numbers_b}),
        "numbers distance": abs(numbers_a[0] - numbers_b[0]) if numbers_a and numbers_b else np.nan,
        "numbers difference": numbers_b[0] - numbers_a[0] if numbers_a and numbers_b else np.nan,
        "numbers count": len(numbers_b) - len(numbers_a),
        "capitals": share(capitalised(text_a), capitalised(text_b)),
        "sum of lengths": len(words_a) + len(words_b),
    }  # fmt: skip
    near = ("numbers distance",)
    return found | {f"log {name}": np.log1p(found[name]) for name in near}


def capitalised(text: str) -> set[str]:
    """Words with a capital that do not begin the text."""
    return {word for word in text.split()[1:] if word[:1].isupper()}
