# ruff: noqa: PTH123, TID251
"""Moves a process's own memory into a file in memory, which makes forks of it several times cheaper.

A fork copies the page table of every region that holds pages of its own, 30,000 entries for our libraries. Pages of a
file that nobody has written to are left out: a child finds them when it touches them. So all that the zygote has
allocated is written to such a file and mapped privately from there, at the same addresses. What a process then writes
is its own, as before; the file can't be written any more, since nobody has it open.

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

__all__ = ["move_to_file"]

_MOVE = bytes.fromhex(
    "53 55 4154"  # push rbx, rbp, r12
    "4889fb 4889f5 4989d4"  # rbx = table; rbp = count; r12 = file
    "4885ed 7444"  # while rbp:
    "4c89e7 488b33 488b5308 4c8b5310 b812000000 0f05"  # rax = pwrite(file, address, size, offset)
    "483b4308 7529"  # if rax != size: break
    "488b3b 488b7308 ba03000000 41ba12000000 4d89e0 4c8b4b10 b809000000 0f05"  # mmap them, private and fixed
    "4883c318 48ffcd ebb7"  # next entry
    "4889e8 415c 5d 5b c3"  # return rbp
)
"""Moves the regions of a table until one fails: address, size, offset in the file; how many were left."""
_ENTRY = struct.Struct("QQQ")
_SMALLEST = 64 << 10


class _Region(NamedTuple):
    address: int
    size: int


def move_to_file() -> None:
    """Move the regions of this process that are mostly in use; for a process with one thread.

    Raises:
        OSError: this machine does not let us; nothing has changed.
    """
    if linux.MACHINE != "x86_64":
        raise OSError(errno.ENOSYS, f"no instructions for {linux.MACHINE}")
    regions = _used_regions()
    offsets = [sum(region.size for region in regions[:index]) for index in range(len(regions) + 1)]
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, len(_MOVE), prot=rights) as program, mmap.mmap(-1, _ENTRY.size * len(regions)) as table:
        program.write(_MOVE)
        for region, offset in zip(regions, offsets, strict=False):
            table.write(_ENTRY.pack(*region, offset))
        move = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)(_address(program))
        file = os.memfd_create("libraries")
        try:
            os.ftruncate(file, offsets[-1])
            move(_address(table), len(regions), file)
        finally:
            os.close(file)


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _used_regions() -> list[_Region]:
    """Writable regions that no file backs and of which at least half is in memory."""
    regions, current = [], None
    with open("/proc/self/smaps") as stream:
        for line in stream:
            words = line.split()
            if not words[0].endswith(":"):
                first, end = (int(address, 16) for address in words[0].split("-"))
                own = words[1] == "rw-p" and (len(words) == 5 or words[5] == "[heap]") and end - first >= _SMALLEST
                current = _Region(first, end - first) if own else None
            elif words[0] == "Rss:" and current and int(words[1]) * 1024 * 2 >= current.size:
                regions.append(current)
    return regions
