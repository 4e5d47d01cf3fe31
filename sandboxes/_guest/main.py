# ruff: noqa: PTH103, PTH118, PTH120, PTH123, TID251
"""The init of a sandbox: enters the namespaces, builds the root, then serves the host until it hangs up.

With namespaces there are two processes: the one the zygote forked, which only waits, and its child, pid 1 inside, whose
death takes everything inside with it. It dies when the host closes the channel, or is killed. The first one keeps the
channel open as long as it lives, so that the host sees its end only when nothing inside is left.
"""

from __future__ import annotations

import os
import sys

from . import files, linux, root, seccomp, staging, wire
from .steps import StepRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["main"]

_KEPT = ("env", "limits", "replacements", "script", "tier", "uid", "workspace")
"""What steps may know of the configuration, since they inherit it; the rest names places of the host."""


def main(control: int, zygote: int) -> None:
    """Serve the host at the descriptor ``control``; the first frame is the configuration.

    Args:
        control: the sandbox's end of its channel.
        zygote: process id of our parent.

    Raises:
        Become: in the processes of steps.
    """
    pid = os.getpid()
    try:
        config, _ = wire.read_frame(control)
        try:
            script = _enter(config, control, zygote)
            config = {name: config[name] for name in _KEPT}
            runner = StepRunner(config, control, script)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host must be told
            wire.write_frame(control, {"problem": f"{type(error).__name__}: {error}"})
            os._exit(1)
        wire.write_frame(control, {"ready": True, "pid": pid})
        _serve(config, control, runner)
    except (EOFError, ConnectionError):
        os._exit(0)


def _serve(config: dict[str, Any], control: int, runner: StepRunner) -> None:
    while True:
        request, blob = wire.read_frame(control)
        if request["op"] == "cancel":  # of a step that has just ended
            continue
        root.repair(config)
        if request["op"] == "run":
            answer, data = runner.run(request, blob), b""
        else:
            answer, data = files.serve_file(config, request, blob)
        wire.write_frame(control, {**answer, "id": request["id"]}, data)


def _enter(config: dict[str, Any], control: int, zygote: int) -> int:
    """Become the sandbox's init.

    Returns:
        the descriptor through which scripts are written.
    """
    if sys.platform == "linux":
        linux.die_with_parent()
    if os.getppid() != zygote:
        os._exit(1)
    if config["tier"] == "D":
        return _prepare_plain(config)
    if linux.MACHINE not in seccomp.SUPPORTED:
        raise OSError(f"isolation knows x86-64 and aarch64, not {linux.MACHINE}")
    if config["tier"] == "B":
        _enter_user_namespace(config["uid"])
    linux.unshare(linux.CLONE_NEWPID)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    linux.die_with_parent()
    others = linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
    linux.unshare(linux.CLONE_NEWNS | others)
    script = root.build_root(config)
    linux.set_hostname("sandbox")
    linux.loopback_up()
    linux.set_dumpable(False)
    return script


def _enter_user_namespace(uid: int) -> None:
    host_uid, host_gid = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {host_uid} 1"), ("gid_map", f"{uid} {host_gid} 1")):
        with open(f"/proc/self/{name}", "w") as stream:
            stream.write(text)


def _prepare_plain(config: dict[str, Any]) -> int:
    """No isolation: a private folder made by the host, with copies of the inputs."""
    if sys.platform == "linux":
        linux.become_subreaper()
    for host, target in config["inputs"]:
        path = os.path.join(config["workspace"], target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        staging.copy_readable(host, path)
    return os.open(config["script"], os.O_CREAT | os.O_RDWR, 0o600)
