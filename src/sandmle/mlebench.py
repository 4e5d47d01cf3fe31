"""An MLE-bench checkout as files: its entries, splits and boards, whose code is never imported.

An entry is ``mlebench/competitions/<id>/`` with ``config.yaml`` (id, name, grader, data set), ``description.md`` and
``leaderboard.csv``; the files ``experiments/splits/<name>.txt`` list the ids of each split. The 22 of ``low`` are
MLE-bench Lite, and ``low``, ``medium`` and ``high`` together the benchmark; ``dev`` is for development.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from sandmle.errors import BadInput

__all__ = ["Checkout", "Entry"]

MAX_CONFIG_BYTES = 1 << 16
MAX_DESCRIPTION_BYTES = 1 << 18
MAX_LEADERBOARD_BYTES = 1 << 24
_POINTER = "version https://git-lfs"


@dataclass(frozen=True)
class Entry:
    """One competition of the registry.

    Attributes:
        title: its name in words.
        grader: what the registry calls its metric.
        answers: the hidden labels, as a path in the data folder; empty where the entry names none.
        sample_submission: the same for the sample submission.
        folder: where the entry lies.
    """

    id: str
    title: str
    grader: str
    answers: str
    sample_submission: str
    folder: Path

    def description(self) -> str:
        """The competition's text.

        Raises:
            BadInput: it is missing or too long.
        """
        return _text(self.folder / "description.md", MAX_DESCRIPTION_BYTES)

    def board(self) -> tuple[float, ...]:
        """The scores of the private leaderboard in its own order, best first, finite.

        Raises:
            BadInput: there is no board, or a Git LFS pointer in its place; says what to do.
        """
        path = self.folder / "leaderboard.csv"
        text = _text(path, MAX_LEADERBOARD_BYTES)
        if text.startswith(_POINTER):
            root = self.folder.parents[2]
            raise BadInput(f"{path}: a Git LFS pointer in place of the board; run `git -C {root} lfs pull`")
        try:
            scores = tuple(float(row["score"]) for row in csv.DictReader(text.splitlines()))
        except (KeyError, ValueError, TypeError) as error:
            raise BadInput(f"{path}: a board needs a column `score` of numbers") from error
        if not scores or not all(map(math.isfinite, scores)):
            raise BadInput(f"{path}: a board needs at least one team, and finite scores")
        return scores


@dataclass(frozen=True)
class Checkout:
    """A checkout at ``root``, and the folder of each entry by its id."""

    root: Path
    folders: dict[str, Path]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Find the entries of the checkout at ``path``.

        Raises:
            BadInput: there is no checkout of MLE-bench.
        """
        root = path.resolve()
        folder = root / "mlebench" / "competitions"
        if not folder.is_dir():
            raise BadInput(f"{root}: no checkout of MLE-bench (it has no folder mlebench/competitions)")
        found = {config.parent.name: config.parent for config in folder.glob("*/config.yaml")}
        if not found:
            raise BadInput(f"{folder}: no entry with a config.yaml")
        return cls(root, found)

    def entry(self, competition: str) -> Entry:
        """Read the entry of ``competition``, which is one of ``folders``.

        Raises:
            BadInput: its ``config.yaml`` is broken.
        """
        folder = self.folders[competition]
        path = folder / "config.yaml"
        try:
            config = yaml.safe_load(_text(path, MAX_CONFIG_BYTES))
        except yaml.YAMLError as error:
            raise BadInput(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from error
        if _field(config, "id") != competition:
            raise BadInput(f"{path}: `id` must be {competition!r}, the name of its folder")
        title, grader = _field(config, "name"), _field(_field(config, "grader"), "name")
        if not (isinstance(title, str) and isinstance(grader, str)):
            raise BadInput(f"{path}: `name` and `grader.name` must be text")
        data = _field(config, "dataset")
        answers, sample = (str(_field(data, name) or "") for name in ("answers", "sample_submission"))
        return Entry(competition, title, grader, answers, sample, folder)

    def split_file(self, name: str) -> Path:
        """Where the ids of a split are listed."""
        return self.root / "experiments" / "splits" / f"{name}.txt"

    def split(self, name: str) -> list[str] | None:
        """The ids of the split ``name``, each with an entry; None where the checkout has no such list.

        Raises:
            BadInput: an id has no entry.
        """
        path = self.split_file(name)
        if not path.is_file():
            return None
        listed = _text(path, MAX_CONFIG_BYTES).split()
        if unknown := sorted(set(listed) - self.folders.keys()):
            raise BadInput(f"{path}: {unknown[0]} has no entry in mlebench/competitions")
        return listed


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
