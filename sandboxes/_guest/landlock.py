"""Landlock: a process gives up, for itself and its descendants, all files, TCP ports and processes but some it names.

It needs no rights at all, so it is what is left to an unprivileged user where namespaces are forbidden. The rules hang
on files that exist when they are made, and can only allow: what lies below a folder that may be changed may be changed
too. Not covered are looking up whether a path exists and changing a file's mode, owner and times; Unix sockets that
have a path; System V IPC. ``seccomp_alone`` takes care of all of them but the first.

Versions of the interface ("ABI"), by what each added: 1 files (Linux 5.13), 2 moves between folders (5.19), 3
truncation (6.2), 4 TCP (6.7), 5 ioctl of devices (6.10), 6 signals and abstract sockets (6.12). See landlock(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LEAST_ABI", "SIGNALS_ABI", "abi", "restrict"]

LEAST_ABI = 3
"""Before it, code could cut off any file of its user's."""
SIGNALS_ABI = 6

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_SYM = 16, 32, 128, 256, 512, 1024, 4096
_MOVE, _TRUNCATE, _IOCTL_DEVICE = 8192, 16384, 32768
_FILES = {1: 0x1FFF, 2: _MOVE, 3: _TRUNCATE, 5: _IOCTL_DEVICE}
"""Rights on files, by the version that added them."""
_BIND_AND_CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
"""The rights that a rule about a single file may name."""

_SEE = _EXECUTE | _READ_FILE | _READ_DIR
_USE = _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE
_OWN = (
    _SEE | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_FIFO | _MAKE_SYM | _MOVE | _TRUNCATE
)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version that this kernel offers; 0 if it has none or has it switched off."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))))


def restrict(*, see: Iterable[str], use: Iterable[str], own: Iterable[str]) -> None:
    """Give up all but the paths named; needs ``forbid_new_privileges`` before. Those that are not there are skipped.

    Args:
        see: files and folders to read and execute.
        use: devices and the like to read and write, but not to replace.
        own: folders in which everything is allowed.

    Raises:
        OSError: the kernel refuses, or its Landlock is older than version ``LEAST_ABI``.
    """
    version = abi()
    if version < LEAST_ABI:
        raise OSError(f"Landlock version {version} is too old: version {LEAST_ABI} (Linux 6.2) is needed")
    handled = sum(rights for since, rights in _FILES.items() if version >= since)
    rules = _create(version, handled)
    try:
        for paths, rights in ((see, _SEE), (use, _USE), (own, _OWN)):
            for path in paths:
                _allow(rules, path, rights & handled)
        _check(_libc.syscall(_RESTRICT_SELF, rules, ctypes.c_uint32(0)), "landlock_restrict_self")
    finally:
        os.close(rules)


def _create(version: int, handled: int) -> int:
    ports = _BIND_AND_CONNECT if version >= 4 else 0
    scoped = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= SIGNALS_ABI else 0
    fields = [handled, ports, scoped][: 1 if version < 4 else 2 if version < SIGNALS_ABI else 3]
    wanted = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(wanted))
    return _check(_libc.syscall(_CREATE_RULESET, wanted, size, ctypes.c_uint32(0)), "landlock_create_ruleset")


def _allow(rules: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILES
            rule = struct.pack("=Qi", rights, place)
            _check(_libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, ctypes.c_uint32(0)), f"landlock: {path}")
        finally:
            os.close(place)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
