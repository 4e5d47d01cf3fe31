"""Finding seeds: the bundled ones, and those that the user added."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.seeds._competitions import competition_seeds
from sandmle.seeds._record import Seed
from sandmle.seeds._shelf import added_seeds
from sandmle.seeds.bundled import bundled_seeds, install_hint, is_at_hand

__all__ = ["get_seed", "list_seeds", "missing_install", "select_seeds"]


def list_seeds() -> list[Seed]:
    """All seeds: bundled ones (also where their data are not installed), added ones by id, then the paper's others.

    Raises:
        BadInput: the file that remembers added seeds is broken.
    """
    known = [*bundled_seeds(), *added_seeds()]
    ids = {seed.id for seed in known}
    return [*known, *(seed for seed in competition_seeds() if seed.id not in ids)]


def get_seed(seed_id: str) -> Seed:
    """The seed called ``seed_id``.

    Raises:
        BadInput: there is none; names the closest.
    """
    seeds = {seed.id: seed for seed in list_seeds()}
    if seed_id in seeds:
        return seeds[seed_id]
    close = get_close_matches(seed_id, seeds, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `sandmle seeds list`"
    raise BadInput(f"no seed is called {seed_id!r}; {hint}")


def missing_install(seed: Seed) -> str | None:
    """The command that installs the data of ``seed``, or None where they are at hand or there are none."""
    if seed.source != "bundled" or seed.extra is None or is_at_hand(seed.id):
        return None
    return install_hint(seed.extra)


def select_seeds(ids: Sequence[str]) -> list[Seed]:
    """The seeds that a user names, each once, in the order given.

    Args:
        ids: each an id, several ids with commas between, ``all`` (every seed but those whose data are not installed),
            ``bundled`` (the bundled ones of these), ``paper`` (the competitions that the paper starts from) or the path
            of a folder seed, which need not have been added.

    Raises:
        BadInput: nothing is named, an id is unknown, or a folder is no seed.
    """
    chosen: dict[str, Seed] = {}
    for word in ids:
        parts = [word] if Path(word).is_dir() else word.split(",")
        for part in filter(None, (part.strip() for part in parts)):
            chosen.update((seed.id, seed) for seed in _named(part))
    if not chosen:
        raise BadInput("no seed is named; give ids such as iris,wine or `all`")
    return list(chosen.values())


def _named(word: str) -> list[Seed]:
    if word == "paper":
        paper = {seed.id for seed in competition_seeds()}
        return [seed for seed in list_seeds() if seed.id in paper]
    if word in ("all", "bundled"):
        usable = [seed for seed in list_seeds() if missing_install(seed) is None]
        return [seed for seed in usable if word == "all" or seed.source == "bundled"]
    known = any(seed.id == word for seed in list_seeds())
    if "/" in word or (not known and Path(word).is_dir()):
        from sandmle.seeds._folder import read_folder

        return [read_folder(Path(word))]
    return [get_seed(word)]
