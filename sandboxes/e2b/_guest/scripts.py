# ruff: noqa: PTH123, TID251, TID252
"""A step that is a script: a new Python of code's user, and the end of all it started."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import sys

from ..._guest import linux
from . import PROGRAM, SCRIPT, people
from .seeding.sitecustomize import SEED
from .watching import Watch, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["kills_for_memory", "run_script"]

_SEEDING = f"{PROGRAM}/sandboxes/e2b/_guest/seeding"


def run_script(config: dict[str, Any], request: dict[str, Any], cancelled: int) -> dict[str, Any]:
    """Run the request's ``code`` with its ``args`` for at most ``timeout`` seconds.

    Args:
        config: what ``setup`` was given.
        request: see above.
        cancelled: a descriptor that is readable once the step is to be ended.

    Returns:
        the fields of a StepResult but the tier.
    """
    with open(SCRIPT, "wb") as stream:
        stream.write(request["code"].encode("utf-8", "surrogatepass"))
    linux.become_subreaper()
    kills = kills_for_memory()
    reader, writer = os.pipe()
    main = _start(config, request, writer)
    os.close(writer)
    watch = Watch(reader, cancelled, request["timeout"], config["limits"]["output_bytes"])
    watch.wait(os.pidfd_open(main))
    people.kill_all()
    code = os.waitstatus_to_exitcode(os.waitpid(main, 0)[1])
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        **verdict(code, watch.reason, kills_for_memory() > kills),
        **watch.finish(),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }


def kills_for_memory() -> int:
    """How often the kernel has killed for want of memory in this machine; 0 if it does not tell."""
    with contextlib.suppress(OSError), open("/proc/vmstat") as stream:
        return next((int(line.split()[1]) for line in stream if line.startswith("oom_kill ")), 0)
    return 0


def _environment(env: dict[str, str], seed: str | None) -> dict[str, str]:
    """What a script's Python is started with; ``seeding`` takes its part of it away again."""
    if seed is None:
        return env
    paths = [_SEEDING, *filter(None, [env.get("PYTHONPATH")])]
    return {**env, "PYTHONPATH": os.pathsep.join(paths), SEED: seed}


def _start(config: dict[str, Any], request: dict[str, Any], writer: int) -> int:
    command = [sys.executable, "-P", SCRIPT, *request["args"]]
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            people.limit(config, math.ceil(request["timeout"]) + 5)
            people.become()
            linux.die_with_parent()
            os.chdir(config["workspace"])
            os.execve(command[0], command, _environment(config["env"], request["seed"]))
        except BaseException as error:  # noqa: BLE001 - the last words of a child that must not return
            os.write(2, f"the step could not be started: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(127)
    return pid
