# ruff: noqa: TID251
"""What code may not do where no namespace shuts it in: a filter on top of ``seccomp``'s.

It refuses the calls that reach what namespaces would hide and Landlock does not cover: all sockets but connected pairs,
System V and POSIX message queues, semaphores and memory, the scheduling of other processes, and labels of files.

Changing a file's mode, owner and times would reach every file of the same user, but is also a part of every copy that
Python makes. So these calls do nothing, and say that they did it.
"""

from __future__ import annotations

import errno

from . import linux
from .seccomp import SUPPORTED, call, instruction, load, refuse

__all__ = ["filter_program"]

# (x86-64, aarch64)
_WITHOUT_EFFECT = {
    "chmod": (90, None),
    "chown": (92, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "futimesat": (261, None),
    "lchown": (94, None),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}
_DENIED = {
    "bind": (49, 200),
    "connect": (42, 203),
    "file_setattr": (469, 469),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "ioprio_set": (251, 30),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "setpriority": (141, 140),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "socket": (41, 198),
}
_SOCKETPAIR = (53, 199)
_LOAD, _AND, _JUMP_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_AT_NUMBER, _ALLOW = 0, 0x7FFF0000
_KIND, _STREAM, _PACKETS = 0xF, 1, 5


def filter_program() -> bytes:
    """The filter for this machine.

    Raises:
        KeyError: the machine is neither x86-64 nor aarch64.
    """
    column = SUPPORTED[linux.MACHINE]
    no = refuse(errno.EACCES)
    allow = instruction(_RETURN, _ALLOW)
    parts = [instruction(_LOAD, _AT_NUMBER)]
    for table, answer in ((_WITHOUT_EFFECT, refuse(0)), (_DENIED, no)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                parts += call(number, answer)
    # A pair of datagram sockets could still be pointed at others'.
    connected = (instruction(_JUMP_EQUAL, _STREAM, 1, 0), instruction(_JUMP_EQUAL, _PACKETS, 0, 1), allow, no)
    parts += call(_SOCKETPAIR[column], load(1), instruction(_AND, _KIND), *connected)
    return b"".join([*parts, allow])
