# ruff: noqa: PTH101, PTH103, PTH118, PTH120, TID251
"""What stands in for namespaces where there are none (tiers C and D): a private folder, and a guard over processes.

The *guard* is the process that the zygote forked; the init is its child. Whoever loses its parent in the sandbox
becomes a child of the init, and when that is gone, of the guard, which kills all that is left before it ends. So does
the end of the zygote, which the guard is told by a signal that it can answer.
"""

from __future__ import annotations

import os
import signal
import sys

from . import landlock, linux, seccomp_alone, staging
from .processes import kill_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["prepare", "shut_in"]

_SEEN = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version")
_USED = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def prepare(config: dict[str, Any]) -> int:
    """Become the init of a sandbox in a private folder made by the host, and copy its inputs there.

    Returns:
        a descriptor of the step's script.
    """
    if sys.platform == "linux":
        _leave_guard()
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


def _leave_guard() -> None:
    """Go on in a child; the process that called becomes its guard."""
    zygote, guard = os.getppid(), os.getpid()
    linux.become_subreaper()
    child = os.fork()
    if child == 0:
        linux.die_with_parent()
        if os.getppid() != guard:
            os._exit(1)
        return
    signal.signal(signal.SIGTERM, lambda *_: _end_all())
    linux.die_with_parent(signal.SIGTERM)
    if os.getppid() == zygote:
        os.waitpid(child, 0)
    _end_all()


def _end_all() -> None:
    """Kill and reap until no process is left, and end."""
    while True:
        kill_all(isolated=False)
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)
