"""The Linux system calls that Python does not wrap, through ctypes, on x86-64 and aarch64.

Every function raises OSError with the call's name and arguments when the kernel refuses.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct

__all__ = [
    "CLONE_NEWCGROUP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MACHINE",
    "become_subreaper",
    "bind",
    "die_with_parent",
    "drop_bounding_set",
    "drop_capabilities",
    "forbid_new_privileges",
    "fork_into",
    "gather_pages",
    "join_namespace",
    "loopback_up",
    "mount_overlay",
    "mount_private",
    "mount_proc",
    "mount_tmpfs",
    "pivot_root",
    "raise_capabilities",
    "set_dumpable",
    "set_filter",
    "set_hostname",
    "set_mount_attributes",
    "unmount",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MACHINE = os.uname().machine

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_MADV_COLLAPSE = 25
_HUGE = 2 << 20
_CLONE_PARENT_SETTID = 0x00100000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_CAPABILITY_VERSION_3 = 0x20080522
_AF_INET, _SOCK_DGRAM, _SIOCSIFFLAGS, _IFF_UP = 2, 2, 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, argument: int = 0) -> int:
    word = ctypes.c_ulong
    return int(_libc.prctl(option, word(argument), word(0), word(0), word(0)))


def unshare(flags: int) -> None:
    """Leave the namespaces named by the CLONE_NEW* flags; a new pid namespace holds the next child."""
    _check(_libc.unshare(flags), f"unshare {flags:#x}")


def fork_into(flags: int) -> tuple[int, int]:
    """Fork a child right into the new namespaces of the CLONE_NEW* ``flags``, where it is the first if of processes.

    Unlike after ``unshare``, no process is left between. What ``os.fork`` does for Python is done here.

    Returns:
        what ``fork`` returns, and the child's process id as its parent knows it: in the child too.
    """
    if not flags:
        pid = os.fork()
        return pid, pid or os.getpid()
    with mmap.mmap(-1, mmap.PAGESIZE) as shared:
        number = ctypes.c_int.from_buffer(shared)
        python, word = ctypes.pythonapi, ctypes.c_ulong
        python.PyOS_BeforeFork()
        wanted = word(flags | _CLONE_PARENT_SETTID | signal.SIGCHLD)
        system_call = ctypes.PyDLL(None, use_errno=True).syscall  # unlike _libc's, keeps Python's lock
        pid = system_call(_SYS_CLONE[MACHINE], wanted, word(0), ctypes.byref(number), word(0), word(0))
        (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
        child = int(number.value)
        del number
    return _check(pid, f"clone {flags:#x}"), child


def join_namespace(fd: int) -> None:
    """Enter the namespace of this descriptor; one of processes holds the next child."""
    _check(_libc.setns(fd, 0), "setns")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    options = None if data is None else data.encode()
    _check(_libc.mount(*encoded, ctypes.c_ulong(flags), options), f"mount {kind or source} on {target}")


def mount_private() -> None:
    """Stop mounts of this namespace from reaching the host."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def mount_tmpfs(target: str, *, mib: int, mode: int, uid: int | None = None, inodes: int = 100_000) -> None:
    """Mount an empty in-memory file system of bounded size and number of files, owned by us or by ``uid``."""
    owner = "" if uid is None else f",uid={uid},gid={uid}"
    options = f"size={mib}m,mode={mode:o},nr_inodes={inodes}{owner}"
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, options)


def mount_overlay(target: str, lower: list[str], upper: str, work: str) -> None:
    """Show the folders ``lower``, uppermost first, as one at ``target``; what is changed there goes to ``upper``.

    Needs Linux 5.11, and 6.6 for ``upper`` on a tmpfs to remember that a folder was replaced.
    """
    options = f"lowerdir={':'.join(lower)},upperdir={upper},workdir={work},userxattr"
    _mount("overlay", target, "overlay", _MS_NOSUID | _MS_NODEV, options)


def mount_proc(target: str) -> None:
    """Mount the process tree of the current pid namespace."""
    _mount("proc", target, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def bind(source: str, target: str) -> None:
    """Show ``source`` and what is mounted below it at ``target``."""
    _mount(source, target, None, _MS_BIND | _MS_REC)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


def set_mount_attributes(target: str, *, read_only: bool, devices: bool = False, below: bool = True) -> None:
    """Forbid setuid programs (and writing, and devices) on a mount and all mounts ``below`` it. Needs Linux 5.12."""
    flags = _ATTR_NOSUID | (_ATTR_RDONLY if read_only else 0) | (_ATTR_NOEXEC if devices else _ATTR_NODEV)
    wanted = _MountAttributes(flags, 0, 0, 0)
    pointer, size = ctypes.byref(wanted), ctypes.c_size_t(ctypes.sizeof(wanted))
    how = _AT_RECURSIVE if below else 0
    result = _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), how, pointer, size)
    _check(result, f"mount_setattr {target}")


def pivot_root(new: str, old: str) -> None:
    """Make the mount ``new`` the root and hang the old root at ``old``, a folder below ``new``."""
    _check(_libc.syscall(_SYS_PIVOT_ROOT[MACHINE], os.fsencode(new), os.fsencode(old)), "pivot_root")


def unmount(target: str) -> None:
    """Take a mount and all below it out of the tree."""
    _check(_libc.umount2(os.fsencode(target), _MNT_DETACH), f"umount {target}")


def set_hostname(name: str) -> None:
    """Name the machine in this uts namespace."""
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def loopback_up() -> None:
    """Bring up ``lo`` in a new network namespace, so that programs can talk to themselves."""
    fd = _check(_libc.socket(_AF_INET, _SOCK_DGRAM, 0), "socket")
    try:
        request = ctypes.create_string_buffer(struct.pack("16sh14s", b"lo", _IFF_UP, b""))
        _check(_libc.ioctl(fd, ctypes.c_ulong(_SIOCSIFFLAGS), request), "bring up lo")
    finally:
        os.close(fd)


def die_with_parent(by: int = _SIGKILL) -> None:
    """Get a signal, by default SIGKILL, when the parent dies. Forgotten at fork and when the user changes."""
    _check(_prctl(_PR_SET_PDEATHSIG, by), "PR_SET_PDEATHSIG")


def become_subreaper() -> None:
    """Adopt orphaned descendants, so that they can be found and reaped without a pid namespace."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "PR_SET_CHILD_SUBREAPER")


def set_dumpable(dumpable: bool) -> None:
    """Whether processes of the same user may look into this one (memory, environment, descriptors)."""
    _check(_prctl(_PR_SET_DUMPABLE, int(dumpable)), "PR_SET_DUMPABLE")


def forbid_new_privileges() -> None:
    """Let no program that is executed from here on gain rights."""
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "PR_SET_NO_NEW_PRIVS")


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    header = ctypes.create_string_buffer(struct.pack("Ii", _CAPABILITY_VERSION_3, 0))
    _check(_libc.capset(header, ctypes.create_string_buffer(bytes(24))), "capset")


def raise_capabilities() -> None:
    """Make all permitted capabilities effective."""
    header = ctypes.create_string_buffer(struct.pack("Ii", _CAPABILITY_VERSION_3, 0))
    sets = ctypes.create_string_buffer(24)
    _check(_libc.capget(header, sets), "capget")
    _, low, _, _, high, _ = struct.unpack("6I", sets.raw)
    _check(_libc.capset(header, ctypes.create_string_buffer(struct.pack("6I", low, low, 0, high, high, 0))), "capset")


def drop_bounding_set() -> None:
    """Make it impossible to ever get a capability again, as far as this process may decide that."""
    capability = 0
    while _prctl(_PR_CAPBSET_DROP, capability) == 0:
        capability += 1


def gather_pages() -> None:
    """Put this process's own memory on huge pages where the kernel can (6.1 and later), which makes forks cheaper."""
    with open("/proc/self/maps") as stream:  # noqa: PTH123
        regions = [line.split() for line in stream]
    for span, rights, *_, file in ((*region[:5], "".join(region[5:])) for region in regions):
        if rights == "rw-p" and file in ("", "[heap]"):
            first, end = (int(address, 16) for address in span.split("-"))
            for address in range(-(-first // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
                _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(_HUGE), _MADV_COLLAPSE)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def set_filter(program: bytes) -> None:
    """Install a seccomp filter, 8 bytes an instruction, for this process and all its descendants."""
    instructions = ctypes.create_string_buffer(program, len(program))
    wanted = _FilterProgram(len(program) // 8, ctypes.addressof(instructions))
    word = ctypes.c_ulong
    result = _libc.prctl(_PR_SET_SECCOMP, word(_SECCOMP_MODE_FILTER), ctypes.byref(wanted), word(0), word(0))
    _check(result, "PR_SET_SECCOMP")
