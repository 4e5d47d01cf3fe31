# ruff: noqa: TID251
"""The system calls that code in a sandbox may not make.

A deny list: numeric Python uses a wide and changing set of calls, and the namespaces already take away what the rest
could reach. Forbidden are the calls that

- make namespaces or mounts, look into other processes, or load code into the kernel;
- have been the usual way into the kernel (io_uring, bpf);
- reach what no namespace separates: keyrings, sockets but those of the network and of Unix (a virtual machine's host
  answers on vsock), watching or leasing files, which tells of others' use of an input or holds it up;
- leave something behind when a step ends: System V memory, semaphores and queues;
- let a crash start the machine's crash handler, to which the kernel pipes cores whatever their size limit is, but 1.
"""

from __future__ import annotations

import errno
import struct

from . import linux

__all__ = ["SUPPORTED", "call", "filter_program", "instruction", "load", "refuse"]

# (x86-64, aarch64)
_DENIED = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "msgget": (68, 186),
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
    "sched_setaffinity": (203, 122),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_TO_BRANCH = {"setns", "chroot"}
_CLONE = (56, 220)
_CLONE3 = 435
_FCNTL = (72, 25)
_PRLIMIT = (302, 261)
_SETRLIMIT = (160, 164)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020000
_F_SETLEASE, _F_NOTIFY = 1024, 1026
_RLIMIT_CORE = 4
_UNIX, _INET, _INET6, _NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

SUPPORTED = {"x86_64": 0, "aarch64": 1}
"""Machines that the tables above know, and their column."""


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction of classic BPF."""
    return struct.pack("HBBI", code, if_true, if_false, value)


def load(argument: int, *, high: bool = False) -> bytes:
    """Load a half of a call's argument."""
    return instruction(_LOAD, _AT_ARGUMENTS + 8 * argument + 4 * high)


def refuse(number: int) -> bytes:
    """Return: the call fails with this error; with 0, it does nothing and succeeds."""
    return instruction(_RETURN, _ERRNO | number)


_YES, _NO = instruction(_RETURN, _ALLOW), refuse(errno.EPERM)


def call(number: int, *judge: bytes) -> list[bytes]:
    """Instructions that judge one system call, and let others pass by."""
    return [instruction(_JUMP_EQUAL, number, 0, len(judge)), *judge]


# Limits of others, such as the init that shares the user id in a user namespace, are out of reach.
_OWN_LIMITS = (
    *(load(0), instruction(_JUMP_EQUAL, 0, 1, 0), _NO),
    *(load(1), instruction(_JUMP_EQUAL, _RLIMIT_CORE, 1, 0), _YES),
    *(load(2), instruction(_JUMP_EQUAL, 0, 1, 0), _NO),
    *(load(2, high=True), instruction(_JUMP_EQUAL, 0, 0, 1), _YES, _NO),
)
_NO_CORE_LIMIT = (load(0), instruction(_JUMP_EQUAL, _RLIMIT_CORE, 0, 1), _NO, _YES)
_NO_NAMESPACES = (load(0), instruction(_JUMP_ANY_BIT, _NAMESPACE_FLAGS, 0, 1), _NO, _YES)
_NO_WATCHING = (
    *(load(1), instruction(_JUMP_EQUAL, _F_SETLEASE, 1, 0)),
    *(instruction(_JUMP_EQUAL, _F_NOTIFY, 0, 1), _NO, _YES),
)
_KNOWN_FAMILIES = (
    load(0),
    *(instruction(_JUMP_EQUAL, family, left, 0) for family, left in ((_UNIX, 5), (_INET, 4), (_INET6, 3))),
    *(instruction(_JUMP_EQUAL, _NETLINK, 0, 3), load(2), instruction(_JUMP_EQUAL, _NETLINK_ROUTE, 0, 1), _YES),
    refuse(errno.EAFNOSUPPORT),
)


def _program(machine: str, column: int, *, forkable: bool) -> bytes:
    """The filter for a machine, in classic BPF."""
    parts = [
        instruction(_LOAD, _AT_ARCH),
        instruction(_JUMP_EQUAL, _AUDIT_ARCH[column], 1, 0),
        instruction(_RETURN, _KILL_PROCESS),
        instruction(_LOAD, _AT_NUMBER),
    ]
    if machine == "x86_64":
        parts += [instruction(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _NO]
    for name, numbers in _DENIED.items():
        number = numbers[column]
        if number is not None and not (forkable and name in _TO_BRANCH):
            parts += call(number, _NO)
    # libc falls back from clone3, whose flags a filter can't see, to clone.
    parts += call(_CLONE3, refuse(errno.ENOSYS))
    parts += call(_CLONE[column], *_NO_NAMESPACES)
    parts += call(_FCNTL[column], *_NO_WATCHING)
    parts += call(_PRLIMIT[column], *_OWN_LIMITS)
    parts += call(_SETRLIMIT[column], *_NO_CORE_LIMIT)
    parts += call(_SOCKET[column], *_KNOWN_FAMILIES)
    parts += call(_SOCKETPAIR[column], *_KNOWN_FAMILIES)
    return b"".join([*parts, _YES])


_PROGRAMS = {
    (machine, forkable): _program(machine, column, forkable=forkable)
    for machine, column in SUPPORTED.items()
    for forkable in (False, True)
}


def filter_program(*, forkable: bool = False) -> bytes:
    """The filter for this machine, 8 bytes an instruction; assembled once, before any step.

    Args:
        forkable: let through what a process needs to enter the namespaces of its forks (see ``notebook``). That still
            takes capabilities, which code has in no namespaces but those.

    Raises:
        KeyError: the machine is neither x86-64 nor aarch64.
    """
    return _PROGRAMS[linux.MACHINE, forkable]
