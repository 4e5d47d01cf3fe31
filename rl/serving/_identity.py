"""What a checkpoint is called while it is served."""

from __future__ import annotations

import re
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.files import sha256_file
from sandmle.record import sha256_json

__all__ = ["served_name"]

_TRAINERS = ("trainer.pt", "trainer.json")


def served_name(model: str) -> str:
    """A name that tells checkpoints apart: of a folder or file, its own name and 8 hex digits of what is in it.

    A run of ``sandmle eval`` carries it, so that it never goes on with other weights. A hub's name stays as it is.

    Raises:
        BadInput: the folder is empty.
    """
    place = Path(model)
    if not place.exists():
        return model
    files = [place] if place.is_file() else sorted(each for each in place.iterdir() if each.is_file())
    hashes = {each.name: sha256_file(each) for each in files if each.name not in _TRAINERS}
    if not hashes:
        raise BadInput(f"{model}: no policy (the folder holds no file)")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place.resolve().name)
    return f"{name}-{sha256_json(hashes)[:8]}"
