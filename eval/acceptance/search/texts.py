"""Texts as numbers: shape, characters, numbers and what they stand beside, words, pairs of words, order, topics."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["TOKEN", "text_features", "weighted_terms", "words_of"]

TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|[^\w\s]")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
MARKS = (",", ".", "?", "!", ":", ";", "-", "(", "'", '"', "/", "%", "#", "@", "_", "\n")
NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nor", "cannot", "without", "neither", "nothing", "nobody", "hardly"]
)
LINKS = frozenset(
    [
        "the",
        "a",
        "an",
        "and",
        "or",
        "but",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "with",
        "by",
        "from",
        "is",
        "was",
        "are",
        "were",
        "be",
        "it",
        "this",
        "that",
        "as",
    ]
)
DOUBTS = frozenset(
    ["may", "might", "could", "perhaps", "maybe", "possibly", "seems", "probably", "would", "should", "if"]
)
PERSONS = frozenset(["i", "we", "my", "our", "me", "us", "you", "your", "he", "she", "his", "her", "they", "their"])
MAX_WORDS, MAX_PAIRS, MAX_PLACED, MAX_ORDERED = 60, 30, 16, 8
TOPICS = 12


def words_of(text: str) -> list[str]:
    """Tokens in lower case: words, numbers, single marks."""
    return [token.lower() for token in TOKEN.findall(text)]


def text_features(source: str, texts: list[str], n_train: int) -> pd.DataFrame:
    """All features of a text column; words are chosen, and topics found, on the first ``n_train`` texts."""
    tokens = [words_of(text) for text in texts]
    columns: dict[str, Array] = {}
    shapes = pd.DataFrame([shape_of(text, words) for text, words in zip(texts, tokens, strict=True)])
    columns |= {str(name): values.to_numpy(np.float64) for name, values in shapes.items()}
    columns |= word_features(tokens, n_train)
    columns |= beside_numbers(tokens, n_train)
    columns |= letter_features(texts, tokens)
    columns |= topics("topic", [[word for word in words if word[0].isalnum()] for words in tokens], n_train, TOPICS)
    grams = [[text[i : i + 3] for i in range(len(text) - 2)] for text in (text.lower() for text in texts)]
    columns |= topics("spelling", grams, n_train, TOPICS // 2)
    return pd.DataFrame({f"{source} {name}": values for name, values in columns.items()})


def as_number(token: str) -> float:
    """The value of a number token; a comma before three digits parts thousands, any other is a decimal point."""
    plain = re.sub(r",(?=\d{3}\b)", "", token).replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return float(re.sub(r"\D", "", plain) or 0)


def shape_of(text: str, tokens: list[str]) -> dict[str, float]:
    """Counts and sizes of one text."""
    words, numbers = [t for t in tokens if t[0].isalpha()], [as_number(n) for n in NUMBER.findall(text)]
    lengths, raw = [len(word) for word in words] or [0], WORD.findall(text)
    capitals = [word for word in raw if word[0].isupper()]
    counts = Counter(words)
    sentences = [part.split() for part in re.split(r"[.!?\n]+", text) if part.strip()] or [[]]
    sizes = [len(part) for part in sentences]
    n, size = max(len(words), 1), max(len(text), 1)
    found = {
        "shape/characters": len(text),
        "shape/words": len(words),
        "shape/sentences": len(sentences),
        "shape/words per sentence": float(np.mean(sizes)),
        "shape/longest sentence": max(sizes),
        "shape/first sentence": sizes[0],
        "shape/last sentence": sizes[-1],
        "shape/word length": float(np.mean(lengths)),
        "shape/word length spread": float(np.std(lengths)),
        "shape/longest word": max(lengths),
        "shape/first word": lengths[0],
        "shape/last word": lengths[-1],
        "shape/long words": sum(length > 7 for length in lengths) / n,
        "shape/different words": len(counts) / n,
        "shape/repeats": n - len(counts),
        "shape/most repeated": max(counts.values(), default=0),
        "shape/doubled": sum(a == b for a, b in itertools.pairwise(words)),
        "shape/capitals": sum(c.isupper() for c in text) / size,
        "shape/capitalised": len(capitals),
        "shape/capitalised inside": max(len(capitals) - len(sentences), 0) / n,
        "shape/all capitals": sum(len(word) > 1 and word.isupper() for word in raw),
        "shape/digits": sum(c.isdigit() for c in text),
        "shape/marks": sum(not t[0].isalnum() for t in tokens),
        "shape/negations": sum(word in NEGATIONS or word.endswith("n't") for word in words),
        "shape/links": sum(word in LINKS for word in words) / n,
        "shape/doubts": sum(word in DOUBTS for word in words),
        "shape/persons": sum(word in PERSONS for word in words),
        "shape/past": sum(word.endswith("ed") for word in words) / n,
        "shape/ing": sum(word.endswith("ing") for word in words) / n,
        "shape/plural": sum(word.endswith("s") for word in words) / n,
        "shape/adverbs": sum(word.endswith("ly") for word in words) / n,
        "shape/vowels": sum(c in "aeiou" for c in text.lower()) / size,
        "shape/alliteration": sum(a[0] == b[0] for a, b in itertools.pairwise(words)) / n,
        "shape/ascending": sum(a < b for a, b in itertools.pairwise(words)) / n,
        "numbers/count": len(numbers),
        "numbers/first": numbers[0] if numbers else np.nan,
        "numbers/last": numbers[-1] if numbers else np.nan,
        "numbers/largest": max(numbers, default=np.nan),
        "numbers/smallest": min(numbers, default=np.nan),
        "numbers/sum": sum(numbers) if numbers else np.nan,
        "numbers/range": max(numbers) - min(numbers) if numbers else np.nan,
        "numbers/mean": float(np.mean(numbers)) if numbers else np.nan,
        "numbers/second": numbers[1] if len(numbers) > 1 else np.nan,
        "numbers/ratio": numbers[0] / numbers[1] if len(numbers) > 1 and numbers[1] else np.nan,
        "numbers/rises": float(numbers[-1] > numbers[0]) if numbers else 0.0,
        "numbers/even": float(numbers[0] % 2 == 0) if numbers else np.nan,
    }
    return found | {f"marks/{'line' if mark == chr(10) else mark}": text.count(mark) for mark in MARKS}


def word_features(tokens: list[list[str]], n_train: int) -> dict[str, Array]:
    """Which frequent words and pairs are there, where they stand, which comes first, and how texts begin and end."""
    sets = [set(words) for words in tokens]
    pairs = [set(itertools.pairwise(words)) for words in tokens]
    frequent = common([{w for w in words if len(w) > 1 or w.isalpha()} for words in sets[:n_train]], n_train, MAX_WORDS)
    columns = {f"words/{word}": np.array([float(words.count(word)) for words in tokens]) for word in frequent}
    for pair in common(pairs[:n_train], n_train, MAX_PAIRS):
        columns[f"pairs/{' '.join(pair)}"] = np.array([float(pair in found) for found in pairs])
    for end, index in (("first", 0), ("last", -1)):
        ends = [({words[index]} if words else set()) for words in tokens]
        for word in common(ends[:n_train], n_train, MAX_ORDERED):
            columns[f"{end}/{word}"] = np.array([float(word in found) for found in ends])
    spread = sorted(frequent, key=lambda w: abs(sum(w in s for s in sets[:n_train]) / n_train - 0.5))
    place = {
        word: [words.index(word) / len(words) if word in words else -1.0 for words in tokens]
        for word in spread[:MAX_PLACED]
    }
    for word, where in place.items():
        values = np.array(where)
        columns[f"place/{word}"] = np.where(values < 0, np.nan, values)
    early = list(place)[:MAX_ORDERED]
    for i, a in enumerate(early):
        for b in early[i + 1 :]:
            x, y = np.array(place[a]), np.array(place[b])
            columns[f"order/{a} {b}"] = np.where((x < 0) | (y < 0), 0.0, np.sign(y - x))
            columns[f"together/{a} {b}"] = ((x >= 0) & (y >= 0)).astype(np.float64)
    return columns


def common(sets: list[set[Any]], n_train: int, most: int) -> list[Any]:
    """Keys found in some but not all training texts, the most frequent first."""
    counts = Counter(key for found in sets for key in found)
    kept = [key for key, count in counts.items() if max(3, 0.03 * n_train) <= count <= 0.97 * n_train]
    return sorted(kept, key=lambda key: (-counts[key], key))[:most]


def beside_numbers(tokens: list[list[str]], n_train: int) -> dict[str, Array]:
    """The number that stands just before or after a frequent word, such as a unit or the name of a quantity."""
    found: list[dict[str, float]] = []
    for words in tokens:
        row: dict[str, float] = {}
        for i, token in enumerate(words):
            if token[0].isdigit():
                value, near = as_number(token), [w for w in words[max(i - 4, 0) : i] if w.isalpha()]
                if near:
                    row.setdefault(f"after {near[-1]}", value)
                if len(near) > 1:
                    row.setdefault(f"soon after {near[-2]}", value)
                if i + 1 < len(words):
                    row.setdefault(f"before {words[i + 1]}", value)
        found.append(row)
    names = Counter(name for row in found[:n_train] for name in row)
    kept = [name for name, count in names.most_common(40) if count >= 0.15 * n_train]
    return {f"numbers/{name}": np.array([row.get(name, np.nan) for row in found]) for name in sorted(kept)}


def letter_features(texts: list[str], tokens: list[list[str]]) -> dict[str, Array]:
    """Characters of codes and other very short texts; nothing for prose."""
    if np.mean([len(words) for words in tokens]) > 6:
        return {}
    alphabet = [c for c, _ in Counter("".join(texts)).most_common(40)]
    columns = {f"letters/{c}": np.array([float(text.count(c)) for text in texts]) for c in sorted(alphabet)}
    for end, index in (("first", 0), ("last", -1)):
        for c in sorted(alphabet[:20]):
            columns[f"letters/{end} {c}"] = np.array([float(bool(text) and text[index] == c) for text in texts])
    columns["letters/changes"] = np.array([float(sum(a != b for a, b in itertools.pairwise(text))) for text in texts])
    return columns


def weighted_terms(terms: list[list[str]], n_train: int) -> tuple[Array, list[str]]:
    """TF-IDF weights, rows of unit length, of the terms found in at least two training texts (800 at most)."""
    counts = Counter(term for found in terms[:n_train] for term in set(found))
    kept = sorted((t for t, c in counts.items() if c >= 2), key=lambda t: (-counts[t], t))[:800]
    index = {term: i for i, term in enumerate(kept)}
    rows, columns, values = [], [], []
    for row, found in enumerate(terms):
        for term, count in Counter(found).items():
            if term in index:
                rows.append(row)
                columns.append(index[term])
                values.append(count)
    matrix = np.zeros((len(terms), len(kept)), dtype=np.float32)
    matrix[rows, columns] = 1 + np.log(np.array(values))
    matrix *= np.log((1 + n_train) / (1 + np.array([counts[t] for t in kept], dtype=np.float32))) + 1
    return matrix / np.maximum(np.sqrt((matrix**2).sum(axis=1, keepdims=True)), 1e-9), kept


def topics(group: str, terms: list[list[str]], n_train: int, count: int) -> dict[str, Array]:
    """Scores on the main directions of the TF-IDF weights of the training texts."""
    matrix, kept = weighted_terms(terms, n_train)
    if len(kept) < 4:
        return {}
    matrix = matrix.astype(np.float64)
    matrix -= matrix[:n_train].mean(axis=0)
    values, vectors = np.linalg.eigh(matrix[:n_train] @ matrix[:n_train].T)
    top = [i for i in np.argsort(-values, kind="stable")[:count] if values[i] > 1e-9]
    directions = matrix[:n_train].T @ vectors[:, top] / np.sqrt(values[top])
    directions *= np.where(directions[np.abs(directions).argmax(axis=0), np.arange(len(top))] < 0, -1.0, 1.0)
    scores = matrix @ directions
    return {f"{group}/{i + 1}": scores[:, i] for i in range(len(top))}
