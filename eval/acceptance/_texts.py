"""Short texts such as file names as numbers: everything a label could hide in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sandmle.eval.acceptance._identifiers import identifier_features
from sandmle.eval.metrics import Array

__all__ = ["metadata_features", "text_features"]

MIN_ROWS = 5
MAX_TOKENS = 100
MAX_LEVELS = 50
EDGE = 8
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
TOKEN = re.compile(r"[A-Za-z]+|\d+")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def text_features(texts: Sequence[str]) -> Array:
    """Features of one text a row, shape (rows, q).

    Those of identifiers; the first number with its decimals; words and digit groups that occur in five rows or more;
    and which character stands at each of the first and of the last eight places.
    """
    column = pd.Series(list(texts), dtype=object)
    first = [float(found.group()[:15]) if (found := NUMBER.search(text)) else np.nan for text in texts]
    ranked = pd.Series(first).rank().fillna(0.0).to_numpy()
    tokens = [set(TOKEN.findall(text.lower())) for text in texts]
    counts = Counter(token for found in tokens for token in found)
    ranking = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[
        :MAX_TOKENS
    ]  # sets have no order of their own
    common = [token for token, count in ranking if MIN_ROWS <= count < len(texts)]
    words = np.array([[token in found for token in common] for found in tokens], dtype=np.float64)
    return np.column_stack([identifier_features(column), ranked, words.reshape(len(texts), -1), _characters(texts)])


def metadata_features(texts: Sequence[str]) -> Array:
    """Features of one JSON text of metadata a row: of each block the level, the length and ``text_features``."""
    parsed = [json.loads(text) if text else {} for text in texts]
    blocks = []
    for name in sorted({name for found in parsed for name in found}):
        shown = ["\n".join(found.get(name, [])) for found in parsed]
        codes = pd.factorize(pd.Series(shown))[0]
        if codes.max() < MAX_LEVELS:
            blocks.append((codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64))
        blocks.append(text_features(shown))
    return np.hstack([np.zeros((len(texts), 0)), *blocks])


def _characters(texts: Sequence[str]) -> Array:
    places = [text.lower()[:EDGE].ljust(EDGE) + text.lower()[-EDGE:].rjust(EDGE) for text in texts]
    table = np.array([[ALPHABET.find(char) for char in place] for place in places])
    levels = table[:, :, None] == np.arange(len(ALPHABET))
    kept = levels.reshape(len(texts), -1)
    often = kept.sum(axis=0)
    return np.asarray(kept[:, (often >= MIN_ROWS) & (often < len(texts))], dtype=np.float64)
