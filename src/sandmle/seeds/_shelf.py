"""The seeds that a user added, remembered in ``seeds.json`` in the data folder of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.files import disk_errors, folder_lock, write_text
from sandmle.record import VersionedRecord
from sandmle.seeds._record import Seed
from sandmle.settings import get_settings

__all__ = ["SeedShelf", "added_seeds", "remember", "shelf_path"]


class SeedShelf(VersionedRecord):
    """``seeds.json``: the added seeds, sorted by id."""

    seeds: tuple[Seed, ...] = ()


def shelf_path() -> Path:
    """Where added seeds are remembered."""
    return get_settings().data_dir / "seeds.json"


def added_seeds() -> list[Seed]:
    """The seeds that the user added, sorted by id.

    Raises:
        BadInput: ``seeds.json`` is broken.
    """
    path = shelf_path()
    if not path.exists():
        return []
    try:
        return list(SeedShelf.read(path).seeds)
    except BadInput as error:
        raise BadInput(f"{error}; mend or delete this file and add the seeds again") from error


def remember(seeds: Sequence[Seed]) -> None:
    """Add ``seeds``; one that was added before is replaced.

    Raises:
        BadInput: an id belongs to a seed of another source, ``seeds.json`` is broken, or another process writes it.
        EnvironmentProblem: the data folder can't be written.
    """
    from sandmle.seeds.bundled import bundled_seeds

    folder = shelf_path().parent
    try:
        with disk_errors(folder), folder_lock(folder):
            known = {seed.id: seed for seed in [*bundled_seeds(), *added_seeds()]}
            known.update((seed.id, _free(seed, known.get(seed.id))) for seed in seeds)
            added = sorted((seed for seed in known.values() if seed.source != "bundled"), key=lambda seed: seed.id)
            write_text(shelf_path(), SeedShelf(seeds=tuple(added)).to_text())
    except OSError as error:
        raise EnvironmentProblem(
            f"{folder}: can't keep seeds there ({error.strerror}); set SANDMLE_DATA_DIR"
        ) from error


def _free(seed: Seed, holder: Seed | None) -> Seed:
    """``seed``, if its id is free or held by one of its own source."""
    if holder is not None and holder.source != seed.source:
        raise BadInput(
            f"{seed.path}: the id {seed.id!r} belongs to a {holder.source} seed; choose another `id` in seed.toml"
        )
    return seed
