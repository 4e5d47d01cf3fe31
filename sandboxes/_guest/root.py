# ruff: noqa: PTH101, PTH102, PTH103, PTH112, PTH120, PTH123, PTH211, TID251
"""The file system that code sees: a new in-memory root with what Python needs and nothing of the user's.

Layout while it is built, as seen by the init::

    /        a bare tmpfs, the init's own root; code never sees it
    /old     the host's root, gone once everything is mounted
    /new     the sandbox's root, into which init and code change root
    /own     the step's script, shown read-only at /tmp/step.py
    /stage   copies of inputs that can't be mounted as they are

The old root is reached through /old, never through the host's own paths, so that a tmpfs on /tmp hides nothing. Code
whose root is not the root of its mount namespace can't make a user namespace: the kernel forbids it.
"""

from __future__ import annotations

import os

from . import SCRIPT, linux, staging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["build_root", "repair"]

_DEVICES = ("null", "zero", "full", "random", "urandom")
_STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_OWN_MIB = 64
_SHARED_MEMORY_MIB = 64
_STAGE_MIB = 4096


def build_root(config: dict[str, Any]) -> int:
    """Build the root in this process's new mount and pid namespaces and move into it.

    Returns:
        a descriptor of the step's script, through which only the init can write it.
    """
    _leave_host()
    limits, uid = config["limits"], config["uid"]
    linux.mount_tmpfs("/new", mib=16, mode=0o755)
    for name in ("tmp", "workspace", "proc", "dev", "dev/shm", "etc"):
        os.makedirs(f"/new/{name}", exist_ok=True)
    linux.mount_tmpfs("/new/tmp", mib=limits["workspace_mib"], mode=0o1777)
    linux.mount_tmpfs("/new/workspace", mib=limits["workspace_mib"], mode=0o755, uid=uid)
    linux.mount_tmpfs("/new/dev/shm", mib=_SHARED_MEMORY_MIB, mode=0o1777)
    linux.mount_proc("/new/proc")
    _show_system(config["root"])
    _make_devices()
    _show_inputs(config["inputs"])
    script = _show_script()
    _shut()
    return script


def repair(config: dict[str, Any]) -> None:
    """Open the folders that belong to code again: one that shuts itself out must not look like a fault of ours."""
    if config["tier"] == "D":
        os.makedirs(config["workspace"], exist_ok=True)
        os.chmod(config["workspace"], 0o755)
        return
    for path, mode in (("/workspace", 0o755), ("/tmp", 0o1777), ("/dev/shm", 0o1777)):
        os.chmod(path, mode)


def _leave_host() -> None:
    linux.mount_private()
    linux.mount_tmpfs("/tmp", mib=1, mode=0o755)
    for name in ("old", "new", "own", "stage"):
        os.mkdir(f"/tmp/{name}")
    linux.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")


def _show_system(plan: dict[str, Any]) -> None:
    guards = _guard_folders(plan["binds"])
    for path in plan["binds"]:
        _show("/old" + path, "/new" + path)
    for guard in guards:
        linux.set_mount_attributes(guard, read_only=True, below=False)
    for path, text in plan["files"].items():
        with open("/new" + path, "wb") as stream:
            stream.write(text.encode("latin-1"))
        os.chmod("/new" + path, 0o644)
    for path, target in plan["links"]:
        os.makedirs(os.path.dirname("/new" + path), exist_ok=True)
        if not os.path.lexists("/new" + path):
            os.symlink(target, "/new" + path)


def _guard_folders(paths: list[str]) -> list[str]:
    """Make mounts of the folders of /tmp and /workspace that lead to what is shown, for a mount can't be renamed."""
    inside = [
        path.split("/")[1:3] for path in paths if path.startswith(("/tmp/", "/workspace/")) and path.count("/") > 2
    ]
    guards = sorted({f"/new/{top}/{name}" for top, name in inside})
    for guard in guards:
        os.mkdir(guard)
        linux.mount_tmpfs(guard, mib=1, mode=0o755)
    return guards


def _show(source: str, target: str) -> None:
    _make_mount_point(source, target)
    linux.bind(source, target)
    linux.set_mount_attributes(target, read_only=True)


def _make_mount_point(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_RDONLY, 0o644))


def _make_devices() -> None:
    for name in _DEVICES:
        target = f"/new/dev/{name}"
        _make_mount_point(f"/old/dev/{name}", target)
        linux.bind(f"/old/dev/{name}", target)
        linux.set_mount_attributes(target, read_only=False, devices=True)
    for name, rest in _STREAMS.items():
        os.symlink(f"/proc/self/fd{rest}", f"/new/dev/{name}")


def _show_inputs(inputs: list[list[str]]) -> None:
    for index, (host, target) in enumerate(inputs):
        source = "/old" + host
        if not staging.readable_by_all(source):
            if not os.path.ismount("/stage"):
                linux.mount_tmpfs("/stage", mib=_STAGE_MIB, mode=0o755, inodes=1_000_000)
            staging.copy_readable(source, f"/stage/{index}")
            source = f"/stage/{index}"
        _show(source, f"/new/workspace/{target}")


def _show_script() -> int:
    linux.mount_tmpfs("/own", mib=_OWN_MIB, mode=0o755)
    script = os.open("/own/step.py", os.O_CREAT | os.O_RDWR, 0o644)
    _show("/own/step.py", "/new" + SCRIPT)
    return script


def _shut() -> None:
    linux.unmount("/old")
    linux.set_mount_attributes("/new", read_only=True, below=False)
    os.chroot("/new")
    os.chdir("/workspace")
