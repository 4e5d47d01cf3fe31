# ruff: noqa: PTH118
"""The workspace as one block of bytes, to be carried into another sandbox: where it can't be laid over."""

from __future__ import annotations

import errno
import io
import os
import tarfile

__all__ = ["pack", "unpack"]

_MOST = 2 << 30


def pack(workspace: str, but: list[str]) -> bytes:
    """Everything in ``workspace`` but the inputs at the relative paths ``but``; sockets and devices are left out.

    Raises:
        OSError: something can't be read, or it is more than 2 GiB.
    """
    left_out = {os.path.normpath(path) for path in but}

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if block.tell() + member.size > _MOST:
            raise OSError(errno.EFBIG, "the workspace is too large to be copied")
        wanted = member.isfile() or member.isdir() or member.islnk() or member.issym() or member.isfifo()
        return member if wanted and os.path.normpath(member.name) not in left_out else None

    block = io.BytesIO()
    with tarfile.open(fileobj=block, mode="w") as archive:
        for name in sorted(os.listdir(workspace)):  # noqa: PTH208
            archive.add(os.path.join(workspace, name), arcname=name, filter=keep)
    return block.getvalue()


def unpack(workspace: str, block: bytes) -> None:
    """Put what ``pack`` returned into ``workspace``."""
    with tarfile.open(fileobj=io.BytesIO(block)) as archive:
        archive.extractall(workspace, filter="tar")
