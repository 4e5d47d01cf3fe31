# ruff: noqa: TID251
"""The system calls that code in a sandbox may not make.

A deny list: numeric Python uses a wide and changing set of calls, and the namespaces already take away what the rest
could reach. Forbidden are the calls that make namespaces or mounts, look into other processes, load code into the
kernel, use keyrings (which no namespace separates), or have been the usual way into the kernel (io_uring, bpf).
"""

from __future__ import annotations

import errno
import struct

from . import linux

__all__ = ["SUPPORTED", "filter_program"]

# (x86-64, aarch64)
_DENIED = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_CLONE = (56, 220)
_CLONE3 = 435
_PRLIMIT = (302, 261)
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCH, _AT_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

SUPPORTED = {"x86_64": 0, "aarch64": 1}
"""Machines that the tables above know, and their column."""


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def filter_program() -> bytes:
    """The filter for this machine, in classic BPF.

    Raises:
        KeyError: the machine is neither x86-64 nor aarch64.
    """
    column = SUPPORTED[linux.MACHINE]
    forbid = _instruction(_RETURN, _ERRNO | errno.EPERM)
    allow = _instruction(_RETURN, _ALLOW)
    parts = [
        _instruction(_LOAD, _AT_ARCH),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH[column], 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _AT_NUMBER),
    ]
    if linux.MACHINE == "x86_64":
        parts += [_instruction(_JUMP_AT_LEAST, _X32_BIT, 0, 1), forbid]
    for numbers in _DENIED.values():
        parts += [_instruction(_JUMP_EQUAL, numbers[column], 0, 1), forbid]
    # libc falls back from clone3, whose flags a filter can't see, to clone.
    parts += [_instruction(_JUMP_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _ERRNO | errno.ENOSYS)]
    # Limits of others, such as the init that shares the user id in a user namespace, are out of reach.
    parts += [_instruction(_JUMP_EQUAL, _PRLIMIT[column], 0, 4), _instruction(_LOAD, _AT_FIRST_ARGUMENT)]
    parts += [_instruction(_JUMP_EQUAL, 0, 1, 0), forbid, allow]
    parts += [_instruction(_JUMP_EQUAL, _CLONE[column], 0, 3), _instruction(_LOAD, _AT_FIRST_ARGUMENT)]
    parts += [_instruction(_JUMP_ANY_BIT, _NAMESPACE_FLAGS, 0, 1), forbid, allow]
    return b"".join(parts)
