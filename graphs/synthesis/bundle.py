"""Bringing the data that a generator wrote out of its sandbox: one archive a run, unpacked with distrust.

The generator may have been written by a language model, so nothing of the archive is believed: names are checked, sizes
are bounded while they are read, and only plain files below ``public`` and ``private`` are kept.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from sandmle.agents.scripts import ScriptJob
from sandmle.files import PUBLIC_TIME
from sandmle.sandboxes import Sandbox

__all__ = ["Files", "pack_job", "read_bundle", "write_files"]

Files = Mapping[str, bytes]
"""Contents by path, such as ``public/train.csv``."""

MAX_BUNDLE = 256 << 20
MAX_FILES = 60_000
SAFE_NAME = re.compile(r"(?:public|private)(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){1,3}")

PACK = """
import os, sys, zipfile

folder, target = sys.argv[1:]
found = sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)
with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
    for path in found:
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as stream:
                archive.writestr(zipfile.ZipInfo(os.path.relpath(path, folder)), stream.read())
"""


def pack_job(folder: str) -> ScriptJob:
    """The job that packs a folder of the workspace into ``<folder>.zip``; ``PACK`` must stand in ``pack.py``."""
    return ScriptJob(name=f"pack-{folder}", script="pack.py", args=(folder, f"{folder}.zip"))


async def read_bundle(sandbox: Sandbox, folder: str) -> dict[str, bytes]:
    """What ``pack_job`` packed.

    Raises:
        ValueError: the archive is broken, too large, or holds a name that no task may have.
        FileNotFoundError: there is none.
    """
    data = await sandbox.read(f"{folder}.zip", max_bytes=MAX_BUNDLE)
    try:
        return _unpack(data)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"the files of {folder} can't be read: {error}") from error


def _unpack(data: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MAX_FILES:
            raise ValueError(f"{len(members)} files are more than the {MAX_FILES} that a task may have")
        for member in members:
            if not SAFE_NAME.fullmatch(member.filename) or member.filename in found:
                raise ValueError(f"{member.filename[:80]!r} is no name that a file of a task may have")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(data):
                raise ValueError(f"{member.filename}: its size is not what the archive says")
            found[member.filename] = archive.read(member)
    return found


def write_files(folder: Path, contents: Files, *, same_as: Path | None = None) -> None:
    """Write files below ``folder`` with one modification time; those equal to a file below ``same_as`` are linked."""
    made: set[Path] = set()
    for name, data in contents.items():
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        twin = same_as / name if same_as else None
        if twin is not None and twin.is_file() and twin.stat().st_size == len(data) and twin.read_bytes() == data:
            os.link(twin, path)
            continue
        path.write_bytes(data)
        os.utime(path, (PUBLIC_TIME, PUBLIC_TIME))
