# ruff: noqa: PTH123, TID251
"""Moves a process's memory into a file in memory, which makes forks of it many times cheaper.

A fork copies every region of memory, of which our libraries make 1,500, and the page table of each that holds pages of
its own, 30,000 entries. So all that the zygote has allocated, and the libraries themselves, are written to a file in
memory and mapped privately from there, at the same addresses, what is adjacent as one region. Pages of the file that a
process has not touched are left out of its forks, which find them when they touch them. What a process writes is its
own, as before; the file can't be written any more, since nobody has it open.

Between the copy and the mapping no Python may run, for it would change what was copied. Hence a few machine
instructions that do both. They exist for x86-64; other machines do without.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
from typing import NamedTuple

from . import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["move_to_file"]

_MOVE = bytes.fromhex(
    "53 55 4154"  # save rbx, rbp, r12
    "4889fb 4889f5 4989d4"  # rbx = table; rbp = count; r12 = file
    "4885ed 7443"  # while rbp:
    "4c89e7 488b33 488b5308 4c8b5310 b812000000 0f05"  # rax = pwrite(file, entry.address, entry.size, entry.offset)
    "483b4308 751f"  # if rax == entry.size:
    "488b3b 488b7308 488b5318 41ba12000000 4d89e0 4c8b4b10 b809000000 0f05"  # mmap the entry, private and fixed
    "4883c320 48ffcd ebb8"  # next entry
    "415c 5d 5b c3"  # restore and return
)
_ENTRY = struct.Struct("QQQQ")
"""Of the table: address, size, offset in the file, rights."""
_LARGE = 1 << 20
"""Libraries' own regions from this size on stay where they are, shared with the rest of the machine."""


class _Region(NamedTuple):
    """Adjacent memory, and what may be done with it."""

    start: int
    end: int
    rights: int


def move_to_file() -> None:
    """Move the memory of this process, which must have one thread.

    Raises:
        OSError: this machine does not let us; nothing has changed.
    """
    if linux.MACHINE != "x86_64":
        raise OSError(errno.ENOSYS, f"no instructions for {linux.MACHINE}")
    spans = list(_merge(_movable_regions()))
    everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, len(_MOVE), prot=everything) as program, mmap.mmap(-1, _ENTRY.size * len(spans)) as table:
        program.write(_MOVE)
        offset = 0
        for start, end, rights in spans:
            table.write(_ENTRY.pack(start, end - start, offset, rights))
            offset += end - start
        move = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)(_address(program))
        file = os.memfd_create("libraries")
        try:
            os.ftruncate(file, offset)
            move(_address(table), len(spans), file)
        finally:
            os.close(file)


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _movable_regions() -> Iterator[_Region]:
    """What we have allocated, where most of it is in use, and the libraries, but for their largest parts."""
    region: _Region | None = None
    with open("/proc/self/smaps") as stream:
        for line in stream:
            words = line.split()
            if not words[0].endswith(":"):
                start, end = (int(address, 16) for address in words[0].split("-"))
                region = _Region(start, end, _rights(words[1])) if _is_movable(words, end - start) else None
                ours = len(words) == 5 or words[5] == "[heap]"
            elif words[0] == "Rss:" and region and (not ours or 2048 * int(words[1]) >= region.end - region.start):
                yield region


def _is_movable(words: list[str], size: int) -> bool:
    rights, path = words[1], words[5] if len(words) > 5 else ""
    if path in ("", "[heap]"):
        return rights == "rw-p"
    return ".so" in path and rights in ("r--p", "r-xp", "rw-p") and (size < _LARGE or rights == "rw-p")


def _rights(words: str) -> int:
    named = {"r": mmap.PROT_READ, "w": mmap.PROT_WRITE, "x": mmap.PROT_EXEC}
    return sum(named[letter] for letter in words if letter in named)


def _merge(regions: Iterator[_Region]) -> Iterator[_Region]:
    """Join what is adjacent, with the rights of all."""
    last: _Region | None = None
    for region in regions:
        if last is not None and last.end == region.start:
            last = _Region(last.start, region.end, last.rights | region.rights)
            continue
        if last is not None:
            yield last
        last = region
    if last is not None:
        yield last
