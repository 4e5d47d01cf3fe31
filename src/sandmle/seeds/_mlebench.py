"""The entries of an MLE-bench checkout as seeds: descriptions without data, whose code is never imported.

The SandMLE paper starts from the 60 of the 82 entries that are not MLE-bench Lite.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.mlebench import Checkout, Entry
from sandmle.seeds._metrics import METRICS
from sandmle.seeds._mlebench_text import METRIC_NAMES, guess_modality, guess_problem, is_loss
from sandmle.seeds._record import Seed

__all__ = ["MleBenchSplit", "read_mlebench"]

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
    checkout = Checkout.open(path)
    lists = {name: checkout.split(name) for name in SPLIT_FILES}
    split_of = {seed_id: name for name, ids in lists.items() for seed_id in ids or ()}
    chosen = _chosen(checkout, split, lists)
    return [_seed(checkout.entry(seed_id), split_of.get(seed_id)) for seed_id in sorted(chosen)]


def _chosen(checkout: Checkout, split: MleBenchSplit, lists: dict[str, list[str] | None]) -> set[str]:
    entries = set(checkout.folders)
    if split is MleBenchSplit.ALL:
        return entries
    name = "low" if split in (MleBenchSplit.LITE, MleBenchSplit.ALL_BUT_LITE) else split.value
    listed = lists[name]
    if not listed:
        raise BadInput(
            f"{checkout.split_file(name)}: missing or empty, so the split {split} is not known; use --split all"
        )
    return entries - set(listed) if split is MleBenchSplit.ALL_BUT_LITE else set(listed)


def _seed(entry: Entry, split: str | None) -> Seed:
    description = entry.description()
    metric = METRIC_NAMES.get(entry.grader, entry.grader)
    facts = METRICS.get(metric)
    lower = _leaderboard_falls(entry)
    return Seed(
        id=entry.id,
        family=entry.id,
        source="mlebench",
        title=entry.title,
        description=description,
        modality=guess_modality(description),
        problem_type=guess_problem(metric, description),
        metric=metric,
        lower_is_better=is_loss(entry.grader) if lower is None else lower,
        prediction=facts.prediction if facts else None,
        path=entry.folder,
        split=split,
        notes=("modality and problem type: guessed from the description",),
    )


def _leaderboard_falls(entry: Entry) -> bool | None:
    """Whether the board's first score is below its last, so that lower is better; None without a readable board.

    The rule is MLE-bench's own; in a checkout without Git LFS the board is a pointer, which has no scores.
    """
    try:
        board = entry.board()
    except BadInput:
        return None
    return board[0] < board[-1]
