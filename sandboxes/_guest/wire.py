"""What the host and its processes say to each other.

Frames, to and from a sandbox's init: two big-endian lengths, a JSON object, raw bytes.

Orders, to who forks sandboxes (see ``forks``): a kind and a number::

    FORK   into no namespaces (ALONE), one of processes (PROCESSES), or that and one of users (USERS); with a descriptor
    KILL   the sandbox with this process id
    SEAL   fork no more: the state is not needed any longer (of a frozen sandbox alone)
"""

from __future__ import annotations

import json
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ALONE",
    "FORK",
    "HEADER",
    "KILL",
    "ORDER",
    "PROCESSES",
    "SEAL",
    "USERS",
    "decode",
    "encode",
    "read_frame",
    "write_frame",
]

HEADER = struct.Struct("!II")
ORDER = struct.Struct("!cI")
FORK, KILL, SEAL = b"F", b"K", b"S"
ALONE, PROCESSES, USERS = range(3)


def encode(message: dict[str, Any], blob: bytes = b"") -> bytes:
    """One frame."""
    text = json.dumps(message).encode()
    return HEADER.pack(len(text), len(blob)) + text + blob


def decode(text: bytes) -> dict[str, Any]:
    """The JSON object of a frame.

    Raises:
        ValueError: it is not one.
    """
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError("a frame holds a JSON object")
    return message


def write_frame(fd: int, message: dict[str, Any], blob: bytes = b"") -> None:
    """Write one frame to a blocking descriptor."""
    view = memoryview(encode(message, blob))
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> tuple[dict[str, Any], bytes]:
    """Read one frame from a blocking descriptor.

    Raises:
        EOFError: the other side is gone.
    """
    text_size, blob_size = HEADER.unpack(_exactly(fd, HEADER.size))
    return decode(_exactly(fd, text_size)), _exactly(fd, blob_size)


def _exactly(fd: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(fd, min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side closed the connection")
        parts += part
    return bytes(parts)
