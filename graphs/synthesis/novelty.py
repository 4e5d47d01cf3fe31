"""Is a task new? Near-duplicates within a batch, and overlaps with the text of a benchmark.

Two tasks are near-duplicates where rule structure, schema and text are all alike: the Jaccard index of their terms
(kind and columns), of their columns, and of the five-word shingles of their briefs all reach ``NEAR``. A brief overlaps
with a benchmark where it shares thirteen words in a row with the description of one of its entries (the usual test of
contamination), or bears its id.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.roles import TaskPlan
from sandmle.seeds import list_seeds

__all__ = ["NEAR", "Fingerprint", "NoveltyIndex", "benchmark_overlap", "similarity"]

NEAR = 0.8
SHINGLE = 5
OVERLAP = 13
MIN_ID = 6
"""Shorter ids of benchmark entries are plain words."""


@dataclass(frozen=True)
class Fingerprint:
    """What two tasks are compared by."""

    task_id: str
    rule: frozenset[str]
    schema: frozenset[str]
    text: frozenset[int]

    @classmethod
    def of(cls, plan: TaskPlan, brief: str) -> Fingerprint:
        """The fingerprint of a plan and its brief."""
        blueprint = Blueprint.of(plan)
        rule = blueprint.rule.structure()
        schema = {*(column.name for column in blueprint.table.columns), plan.target, plan.metric, blueprint.kind}
        return cls(plan.task_id, frozenset(rule), frozenset(schema), _shingles(brief, SHINGLE))

    @classmethod
    def read(cls, task: Path) -> Fingerprint:
        """The fingerprint of a task folder of the procedural team."""
        plan = TaskPlan.model_validate_json((task / "provenance" / "rule.json").read_bytes())
        return cls.of(plan, (task / "prepared/public/description.md").read_text(encoding="utf-8"))


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """The least of the three Jaccard indices, in [0, 1]."""
    pairs = ((one.rule, other.rule), (one.schema, other.schema), (one.text, other.text))
    return min(_jaccard(frozenset(a), frozenset(b)) for a, b in pairs)


class NoveltyIndex:
    """The fingerprints of the tasks that a batch has published so far."""

    def __init__(self) -> None:
        self._known: dict[str, Fingerprint] = {}

    def add(self, fingerprint: Fingerprint) -> None:
        """Remember a published task."""
        self._known[fingerprint.task_id] = fingerprint

    def twin(self, fingerprint: Fingerprint) -> tuple[str, float] | None:
        """The most similar task and its similarity, where it is a near-duplicate."""
        others = [known for known in self._known.values() if known.task_id != fingerprint.task_id]
        nearest = max(others, key=lambda known: similarity(fingerprint, known), default=None)
        found = similarity(fingerprint, nearest) if nearest else 0.0
        return (nearest.task_id, found) if nearest and found >= NEAR else None


def benchmark_overlap(task_id: str, brief: str) -> str:
    """What the task shares with a known benchmark entry, one sentence; empty if nothing."""
    words = _words(brief)
    text = " ".join(words)
    own = _shingles(brief, OVERLAP)
    for seed_id, shingles in _benchmark():
        named = len(seed_id) >= MIN_ID and re.search(rf"(?<!\w){re.escape(' '.join(_words(seed_id)))}(?!\w)", text)
        if task_id == seed_id or (named and "-" in seed_id):
            return f"the brief bears the id of the benchmark entry {seed_id}"
        if own & shingles:
            return f"the brief shares {OVERLAP} words in a row with the benchmark entry {seed_id}"
    return ""


@cache
def _benchmark() -> tuple[tuple[str, frozenset[int]], ...]:
    """Ids and shingles of every seed that has a description of its own."""
    return tuple((seed.id, _shingles(seed.description, OVERLAP)) for seed in list_seeds())


def _jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _shingles(text: str, size: int) -> frozenset[int]:
    words = _words(text)
    return frozenset(_hash(words[start : start + size]) for start in range(len(words) - size + 1))


def _hash(words: Iterable[str]) -> int:
    return zlib.crc32(" ".join(words).encode())
