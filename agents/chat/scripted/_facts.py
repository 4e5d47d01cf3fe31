"""What a brief and a profile tell of classes, groups and lengths of lists."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["classes_of", "group_of", "natural", "top_of"]


def classes_of(kind: str, profile: dict[str, Any], description: str, positive: str) -> list[str]:
    """The classes in the order that a submission needs; empty for kinds without classes."""
    known = profile.get("target_classes") or list(profile["target_values"])
    if kind in ("number", "relevance", "text", "mask"):
        return []
    if kind == "probability":
        return [*[label for label in sorted(known, key=natural) if label != positive][:1], positive]
    if kind in ("label_set", "label_probabilities"):
        known = [word for word in profile["target_words"] if word != "none"]
    if kind in ("class_probabilities", "label_probabilities"):
        columns = profile["sample_columns"][1:]
        return [_meant(column, known) for column in columns]
    numeric = all(natural(label)[0] is False for label in known)
    return sorted(known, key=natural) if numeric else _as_told(sorted(known), description)


def _meant(column: str, labels: list[str]) -> str:
    """The class that a prediction column stands for; the column's own name if there is none."""
    ending = [label for label in labels if column.endswith(label)]
    return column if column in labels or not ending else max(ending, key=len)


def _as_told(labels: list[str], description: str) -> list[str]:
    """In the order of a list in the description that holds all labels, else as they are."""
    for line in description.splitlines():
        found = {label: re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", line) for label in labels}
        places = {label: match.start() for label, match in found.items() if match}
        if len(places) == len(labels):
            return sorted(labels, key=places.__getitem__)
    return labels


def group_of(profile: dict[str, Any], description: str) -> str | None:
    """The column that says which rows are ranked together: whole in train or test, and spoken of as a group."""
    groups: list[str] = profile.get("groups", [])
    spoken = [
        name for name in groups if re.search(rf"(?:within|each|per|group|rank)[^.\n]*`{re.escape(name)}`", description)
    ]
    return next(iter([*spoken, *groups]), None)


def top_of(profile: dict[str, Any], description: str, metric: str) -> int:
    """Most labels in a cell: from the metric's name, the description, or the sample."""
    named = re.search(r"(?:at_?|@)(\d+)$", metric) or re.search(r"\w@(\d+)\b", description)
    told = named or re.search(r"(?:up to|at most) (\d+)", description)
    return int(told.group(1)) if told else max(int(profile.get("sample_words", 1)), 1)


def natural(label: str) -> tuple[bool, float, str]:
    """Numbers in their order, before words in theirs."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
