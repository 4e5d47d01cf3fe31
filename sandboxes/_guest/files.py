# ruff: noqa: TID251
"""Files of the workspace, handled with the rights of the code inside and without following any link.

Each operation runs in a confined child of the init, so that no name the code chose reaches further than the code could.
"""

from __future__ import annotations

import contextlib
import os
import stat

from . import packing, wire
from .confine import confine
from .removal import FOLDER, is_folder, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["attempt", "serve_file"]

_TEMPORARY = ".sandmle-writing"


def serve_file(config: dict[str, Any], request: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
    """Do one ``read``, ``write``, ``remove``, ``pack`` or ``unpack``.

    Returns:
        an empty object and the bytes read; or ``error`` (missing, refused, system) with ``message`` and ``errno``.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            confine(config, ours=True)
            wire.write_frame(writer, *attempt(config["workspace"], request, blob))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        return wire.read_frame(reader)
    except EOFError:
        return {"problem": "the file helper ended without an answer"}, b""
    finally:
        os.close(reader)
        os.waitpid(pid, 0)


def attempt(workspace: str, request: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
    """Do one ``read``, ``write`` or ``remove`` in this very process, which has code's rights already."""
    path = request["path"]
    try:
        if request["op"] == "pack":
            return {}, packing.pack(workspace, request["but"])
        if request["op"] == "unpack":
            packing.unpack(workspace, blob)
            return {}, b""
        *folders, name = path.split("/")
        top = _descend(workspace, folders, make=request["op"] == "write")
        if request["op"] == "read":
            return {}, _read(top, name, path, request["max_bytes"])
        if request["op"] == "write":
            _write(top, name, blob)
        else:
            remove(top, name)
    except FileNotFoundError:
        return ({"error": "missing", "message": f"{path}: no such file"} if request["op"] != "remove" else {}), b""
    except ValueError as error:
        return {"error": "refused", "message": str(error)}, b""
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        if request["op"] == "read":
            return {"error": "refused", "message": message}, b""
        return {"error": "system", "message": message, "errno": error.errno}, b""
    return {}, b""


def _descend(workspace: str, folders: list[str], *, make: bool) -> int:
    top = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    for name in folders:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=top)
        mode = os.stat(name, dir_fd=top, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            raise ValueError(f"{'/'.join(folders)}: {name} is a link or a file, not a folder")
        top = os.open(name, FOLDER, dir_fd=top)
    return top


def _read(top: int, name: str, path: str, max_bytes: int) -> bytes:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=top)
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise ValueError(f"{path}: not a regular file")
    if state.st_size > max_bytes:
        raise ValueError(f"{path}: {state.st_size} bytes, more than the {max_bytes} allowed")
    with os.fdopen(fd, "rb") as stream:
        return stream.read(state.st_size)


def _write(top: int, name: str, data: bytes) -> None:
    remove(top, _TEMPORARY)
    fd = os.open(_TEMPORARY, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=top)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
        if is_folder(top, name):
            remove(top, name)
        os.rename(_TEMPORARY, name, src_dir_fd=top, dst_dir_fd=top)
    except OSError:
        remove(top, _TEMPORARY)
        raise
