"""The entries of an MLE-bench checkout as seeds: descriptions without data, whose code is never imported.

An entry is ``mlebench/competitions/<id>/`` with ``config.yaml`` (id, name, grader) and ``description.md``; the files
``experiments/splits/<name>.txt`` list the ids of each split. The 22 of ``low`` are MLE-bench Lite, and the SandMLE
paper starts from the other 60 of its 82 entries.
"""

from __future__ import annotations

import csv
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from sandmle.errors import BadInput
from sandmle.seeds._metrics import METRICS
from sandmle.seeds._mlebench_text import METRIC_NAMES, guess_modality, guess_problem, is_loss
from sandmle.seeds._record import Seed

__all__ = ["MleBenchSplit", "read_mlebench"]

MAX_CONFIG_BYTES = 1 << 16
MAX_DESCRIPTION_BYTES = 1 << 18
MAX_LEADERBOARD_BYTES = 1 << 24
SPLIT_FILES = ("low", "medium", "high", "dev")


class MleBenchSplit(StrEnum):
    """Which entries to take; ``lite`` is another name of ``low``."""

    ALL_BUT_LITE = "all-but-lite"
    ALL = "all"
    LITE = "lite"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    DEV = "dev"


def read_mlebench(path: Path, split: MleBenchSplit = MleBenchSplit.ALL_BUT_LITE) -> list[Seed]:
    """The entries of the checkout at ``path`` that ``split`` names, sorted by id.

    Raises:
        BadInput: not a checkout of MLE-bench, or one of its files is missing or broken; names the file.
    """
    root = path.resolve()
    entries = _entries(root)
    lists = {name: _split_ids(root, name) for name in SPLIT_FILES}
    split_of = {seed_id: name for name, ids in lists.items() for seed_id in ids or ()}
    chosen = _chosen(root, split, set(entries), lists)
    return [_seed(entries[seed_id], split_of.get(seed_id)) for seed_id in sorted(chosen)]


def _entries(root: Path) -> dict[str, Path]:
    folder = root / "mlebench" / "competitions"
    if not folder.is_dir():
        raise BadInput(f"{root}: no checkout of MLE-bench (it has no folder mlebench/competitions)")
    found = {entry.parent.name: entry.parent for entry in folder.glob("*/config.yaml")}
    if not found:
        raise BadInput(f"{folder}: no entry with a config.yaml")
    return found


def _split_ids(root: Path, name: str) -> list[str] | None:
    path = _split_file(root, name)
    return _text(path, MAX_CONFIG_BYTES).split() if path.is_file() else None


def _split_file(root: Path, name: str) -> Path:
    return root / "experiments" / "splits" / f"{name}.txt"


def _chosen(root: Path, split: MleBenchSplit, entries: set[str], lists: dict[str, list[str] | None]) -> set[str]:
    if split is MleBenchSplit.ALL:
        return entries
    name = "low" if split in (MleBenchSplit.LITE, MleBenchSplit.ALL_BUT_LITE) else split.value
    listed = lists[name]
    if not listed:
        raise BadInput(
            f"{_split_file(root, name)}: missing or empty, so the split {split} is not known; use --split all"
        )
    unknown = sorted(set(listed) - entries)
    if unknown:
        raise BadInput(f"{_split_file(root, name)}: {unknown[0]} has no entry in mlebench/competitions")
    return entries - set(listed) if split is MleBenchSplit.ALL_BUT_LITE else set(listed)


def _seed(entry: Path, split: str | None) -> Seed:
    title, grader = _config(entry)
    description = _text(entry / "description.md", MAX_DESCRIPTION_BYTES)
    metric = METRIC_NAMES.get(grader, grader)
    facts = METRICS.get(metric)
    lower = _leaderboard_falls(entry / "leaderboard.csv")
    return Seed(
        id=entry.name,
        family=entry.name,
        source="mlebench",
        title=title,
        description=description,
        modality=guess_modality(description),
        problem_type=guess_problem(metric, description),
        metric=metric,
        lower_is_better=is_loss(grader) if lower is None else lower,
        prediction=facts.prediction if facts else None,
        path=entry,
        split=split,
        notes=("modality and problem type: guessed from the description",),
    )


def _config(entry: Path) -> tuple[str, str]:
    """The name of an entry and of its grader."""
    path = entry / "config.yaml"
    try:
        config = yaml.safe_load(_text(path, MAX_CONFIG_BYTES))
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from error
    if _field(config, "id") != entry.name:
        raise BadInput(f"{path}: `id` must be {entry.name!r}, the name of its folder")
    title, grader = _field(config, "name"), _field(_field(config, "grader"), "name")
    if not (isinstance(title, str) and isinstance(grader, str)):
        raise BadInput(f"{path}: `name` and `grader.name` must be text")
    return title, grader


def _field(value: Any, key: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    return value.get(key) if isinstance(value, dict) else None


def _text(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise BadInput(f"{path}: longer than {limit} bytes")
    return data.decode("utf-8", errors="replace")


def _leaderboard_falls(path: Path) -> bool | None:
    """Whether the board's first score is below its last, so that lower is better; None without a readable board.

    The rule is MLE-bench's own; in a checkout without Git LFS the board is a pointer, which has no scores.
    """
    if not path.is_file():
        return None
    rows = list(csv.DictReader(_text(path, MAX_LEADERBOARD_BYTES).splitlines()))
    try:
        return float(rows[0]["score"]) < float(rows[-1]["score"])
    except (IndexError, KeyError, ValueError, TypeError):
        return None
