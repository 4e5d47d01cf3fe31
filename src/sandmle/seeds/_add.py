"""Adding seeds: read them, check them, remember them."""

from __future__ import annotations

from pathlib import Path

from sandmle.errors import BadInput
from sandmle.seeds._folder import read_folder
from sandmle.seeds._mlebench import MleBenchSplit, read_mlebench
from sandmle.seeds._record import Seed
from sandmle.seeds._shelf import remember

__all__ = ["add_folder", "add_mlebench"]


def add_folder(path: Path) -> Seed:
    """Add the folder seed at ``path``; one of the same id is replaced.

    Raises:
        BadInput: the folder is no seed, or its id belongs to a seed of another source.
    """
    seed = read_folder(path)
    remember([seed])
    return seed


def add_mlebench(path: Path, split: MleBenchSplit | str = MleBenchSplit.ALL_BUT_LITE) -> list[Seed]:
    """Add the entries of the MLE-bench checkout at ``path`` that ``split`` names; seeds of the same ids are replaced.

    Raises:
        BadInput: not a checkout, an unknown split, or an id belongs to a seed of another source.
    """
    seeds = read_mlebench(path, _split(split))
    remember(seeds)
    return seeds


def _split(name: str) -> MleBenchSplit:
    try:
        return MleBenchSplit(name)
    except ValueError:
        raise BadInput(f"unknown split {name!r}; choose from {', '.join(MleBenchSplit)}") from None
