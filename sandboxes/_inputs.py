"""A spec's inputs on their way to another machine, as a tar."""

from __future__ import annotations

import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from sandmle.sandboxes._configuration import checked_inputs
from sandmle.sandboxes._protocol import SandboxSpec

__all__ = ["owned_by_root", "packed_inputs", "unpack_inputs"]


def packed_inputs(spec: SandboxSpec) -> IO[bytes]:
    """The inputs as a tar in a temporary file, which is gone when closed; its ``name`` is its path.

    Links are packed as links, so that nothing outside an input goes with it; what is neither file, folder nor link is
    left out.

    Raises:
        BadInput: an input can't be used.
    """
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="sandmle-inputs-"))
        with tarfile.open(fileobj=file, mode="w") as tar:
            for host, target in checked_inputs(spec):
                tar.add(host, target, filter=owned_by_root)
        file.flush()
        stack.pop_all()
        return file


def unpack_inputs(archive: IO[bytes], folder: Path) -> None:
    """Unpack what ``packed_inputs`` packed; nothing leaves ``folder``."""
    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(folder, filter="tar")


def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The member as a thing of root's that all may read and nobody else may change."""
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode = 0o755 if member.isdir() or member.mode & 0o111 else 0o644
    return member
