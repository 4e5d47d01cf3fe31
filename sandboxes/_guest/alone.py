# ruff: noqa: PTH101, PTH103, PTH118, PTH120, TID251
"""What stands in for namespaces where there are none (tiers C and D): a private folder, and a guard over processes.

The *guard* is the process that the zygote forked; the init is its child. Whoever loses its parent in the sandbox
becomes a child of the init, and when that is gone, of the guard, which kills all that is left, removes the folder and
ends. It does so too when the zygote ends, of which it is told by a signal that it can answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from . import landlock, linux, seccomp_alone, semaphores, staging
from .processes import kill_all
from .removal import remove_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["prepare", "shut_in", "stand_in"]

_SEEN = (
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version"),
    # joblib asks for a share of CPU time here, and fails if it finds a file that it can't read
    *("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)
_USED = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def prepare(config: dict[str, Any]) -> int:
    """Become the init of a sandbox in a private folder made by the host, and copy its inputs there.

    Returns:
        a descriptor of the step's script.
    """
    if sys.platform == "linux":
        _leave_guard(config["folder"])
        linux.become_subreaper()
        linux.set_dumpable(config["tier"] == "D")
    if config["switch_user"]:
        for path in config["own"]:
            os.chown(path, config["uid"], config["uid"])
        os.chmod(config["folder"], 0o711)
    for host, target in config["inputs"]:
        path = os.path.join(config["workspace"], target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        staging.copy_readable(host, path)
    return os.open(config["script"], os.O_CREAT | os.O_RDWR, 0o644)


def shut_in(config: dict[str, Any], *, ours: bool) -> None:
    """Give up all files but the sandbox's own, the processes outside, and the calls that reach around both.

    What runs only code of ours may still change the modes of files.
    """
    landlock.restrict(see=[*config["seen"], config["script"], *_SEEN], use=_USED, own=config["own"])
    if not ours:
        linux.set_filter(seccomp_alone.filter_program())


def stand_in() -> None:
    """Make the loaded libraries do without ``/dev/shm``, which is not the sandbox's own; joblib then works serially."""
    if "_multiprocessing" in sys.modules:
        vars(sys.modules["_multiprocessing"])["SemLock"] = semaphores.SemLock
    if "multiprocessing.heap" in sys.modules:
        sys.modules["multiprocessing.heap"].Arena._dir_candidates = []
    if "joblib._parallel_backends" in sys.modules:
        vars(sys.modules["joblib._parallel_backends"])["mp"] = None


def _leave_guard(folder: str) -> None:
    """Go on in a child; the process that called becomes its guard, and that of its folder."""
    zygote, guard = os.getppid(), os.getpid()
    linux.become_subreaper()
    child = os.fork()
    if child == 0:
        linux.die_with_parent()
        if os.getppid() != guard:
            os._exit(1)
        return
    signal.signal(signal.SIGTERM, lambda *_: _end_all(folder))
    linux.die_with_parent(signal.SIGTERM)
    if os.getppid() == zygote:
        os.waitpid(child, 0)
    _end_all(folder)


def _end_all(folder: str) -> None:
    """Kill and reap until no process is left, remove the folder, and end."""
    with contextlib.suppress(ChildProcessError):
        while True:
            kill_all(isolated=False)
            os.wait()
    with contextlib.suppress(OSError):
        remove_folder(folder)
    os._exit(0)
