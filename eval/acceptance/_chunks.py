"""Whatever a file says beside its content: text, EXIF and unknown chunks of PNG, WAV and JPEG files.

The containers are walked by hand within strict bounds; nothing is decoded or decompressed, because whoever wrote the
file may want to harm its reader. A broken file gives what was found up to the fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

__all__ = ["read_metadata"]

MAX_CHUNKS = 256
MAX_STEPS = 4096
MAX_PAYLOAD = 512
PNG = b"\x89PNG\r\n\x1a\n"
PNG_CONTENT = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
WAV_CONTENT = frozenset({b"fmt ", b"data"})
JPEG_CONTENT = frozenset({0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD})
START_OF_SCAN = 0xDA
Chunk = tuple[str, bytes]


def read_metadata(data: bytes) -> str:
    """JSON of the metadata of a file, from a chunk's name to its content; empty where there is none.

    Content is text where all of it can be printed, else hexadecimal; 512 bytes a chunk and 256 chunks are read and
    no more than 4,096 passed over. Bytes
    after the end of a container are under ``trailing``.
    """
    if data.startswith(PNG):
        chunks = _png_chunks(data)
    elif data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        chunks = _wav_chunks(data)
    elif data.startswith(b"\xff\xd8"):
        chunks = _jpeg_segments(data)
    else:
        return ""
    found: dict[str, list[str]] = {}
    for name, payload in islice(chunks, MAX_CHUNKS):
        found.setdefault(name, []).append(_shown(payload[:MAX_PAYLOAD]))
    return json.dumps(found, sort_keys=True) if found else ""


def _png_chunks(data: bytes) -> Iterator[Chunk]:
    place = len(PNG)
    for _ in range(MAX_STEPS):
        if place + 12 > len(data):
            break
        size = int.from_bytes(data[place : place + 4], "big")
        kind = data[place + 4 : place + 8]
        if kind not in PNG_CONTENT:
            yield _shown(kind), data[place + 8 : place + 8 + min(size, MAX_PAYLOAD)]
        place += 12 + size
        if kind == b"IEND":
            break
    if place < len(data):
        yield "trailing", data[place : place + MAX_PAYLOAD]


def _wav_chunks(data: bytes) -> Iterator[Chunk]:
    place, end = 12, min(8 + int.from_bytes(data[4:8], "little"), len(data))
    for _ in range(MAX_STEPS):
        if place + 8 > end:
            break
        kind, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
        if kind not in WAV_CONTENT:
            yield _shown(kind), data[place + 8 : place + 8 + min(size, MAX_PAYLOAD)]
        place += 8 + size + size % 2
    if end < len(data):
        yield "trailing", data[end : end + MAX_PAYLOAD]


def _jpeg_segments(data: bytes) -> Iterator[Chunk]:
    place = 2
    for _ in range(MAX_STEPS):
        if place + 4 > len(data) or data[place] != 0xFF or data[place + 1] == START_OF_SCAN:
            break
        marker, size = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if marker not in JPEG_CONTENT:
            yield f"segment {marker:02X}", data[place + 4 : place + 2 + min(size, MAX_PAYLOAD)]
        place += 2 + max(size, 2)


def _shown(payload: bytes) -> str:
    if payload.isascii() and all(32 <= byte < 127 or byte in b"\t\n\r\0" for byte in payload):
        return payload.decode("ascii").replace("\0", " ")
    return payload.hex()
