# ruff: noqa: PTH101, PTH102, PTH103, PTH112, PTH120, PTH123, PTH211, TID251
"""The file system that code sees: a new in-memory root with what Python needs and nothing of the user's.

Layout while it is built, as seen by the init::

    /        a bare tmpfs, the init's own root; code never sees it
    /old     the host's root, gone once everything is mounted
    /new     the sandbox's root, into which init and code change root
    /layer   holds what code writes, in workspace and tmp; a fork lays its own, /layer/n, over it, its fork /layer/n/n
    /own     the step's script, shown read-only at /tmp/step.py
    /stage   copies of inputs that can't be mounted as they are

The old root is reached through /old, never through the host's own paths, so that a tmpfs on /tmp hides nothing. Code
whose root is not the root of its mount namespace can't make a user namespace: the kernel forbids it.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from . import SCRIPT, linux, staging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["WRITABLE", "Root", "build_root", "lay_over", "repair"]

WRITABLE = {"workspace": 0o755, "tmp": 0o1777}
"""The folders that code may write to and that a fork carries over, with their modes."""

_DEVICES = ("null", "zero", "full", "random", "urandom")
_STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_ESCAPE = re.compile(rb"\\([0-7]{3})")
_OWN_MIB = 64
_SHARED_MEMORY_MIB = 64
_STAGE_MIB = 4096


class Root(NamedTuple):
    """The init's hold on its root.

    Attributes:
        script: descriptor of the step's script, through which only the init can write it.
        top: descriptor of the bare root, by which a fork's init leaves the sandbox's own.
        layers: how many layers the writable folders consist of.
    """

    script: int
    top: int
    layers: int

    def move_out(self) -> None:
        """Move into the bare root."""
        os.fchdir(self.top)
        os.chroot(".")

    def move_in(self) -> None:
        """Move from the bare root into the sandbox's own."""
        os.chroot("/new")
        os.chdir("/workspace")


def build_root(config: dict[str, Any]) -> Root:
    """Build the root in this process's new mount and pid namespaces and move into it."""
    _leave_host()
    limits, uid = config["limits"], config["uid"]
    linux.mount_tmpfs("/new", mib=16, mode=0o755)
    for name in (*WRITABLE, "proc", "dev", "dev/shm", "etc"):
        os.makedirs(f"/new/{name}", exist_ok=True)
    _make_layer("/layer", limits["workspace_mib"], uid)
    for name in WRITABLE:
        linux.bind(f"/layer/{name}", f"/new/{name}")
    _mount_shared_memory(uid)
    linux.mount_proc("/new/proc")
    _show_system(config["root"])
    _make_devices(config["devices"])
    _show_inputs(config["inputs"])
    linux.unmount("/old")
    linux.set_mount_attributes("/new", read_only=True, below=False)
    return _finish(1)


def lay_over(config: dict[str, Any], parent: Root) -> Root:
    """Make the root of a fork, in its new namespaces, out of its parent's, and move into it.

    The parent's writable folders lie below ours, so that neither sees what the other writes. The rest is shared.
    To be called in the bare root.
    """
    layers = ["/layer" + "/n" * number for number in range(parent.layers + 1)]
    _make_layer(layers[-1], config["limits"]["workspace_mib"], config["uid"])
    for layer in layers[:-1]:  # also for who has got out of the sandbox's root
        linux.set_mount_attributes(layer, read_only=True, below=False)
    shown = _shown_inside([f"/new/{name}/" for name in WRITABLE])
    for name in WRITABLE:
        lower = [f"{layer}/{name}" for layer in reversed(layers[:-1])]
        linux.mount_overlay(f"/new/{name}", lower, f"{layers[-1]}/{name}", f"{layers[-1]}/work-{name}")
    for path, source in shown.items():
        linux.bind(f"/new/proc/self/fd/{source}", path)
        os.close(source)
    _mount_shared_memory(config["uid"])
    linux.mount_proc("/new/proc")
    return _finish(len(layers))


def repair(config: dict[str, Any]) -> None:
    """Open the folders that belong to code again: one that shuts itself out must not look like a fault of ours."""
    if config["tier"] not in "AB":
        os.makedirs(config["workspace"], exist_ok=True)
        os.chmod(config["workspace"], 0o755)
        return
    for path, mode in WRITABLE.items():
        os.chmod(f"/{path}", mode)
    os.chmod("/dev/shm", 0o1777)


def _leave_host() -> None:
    linux.mount_private()
    linux.mount_tmpfs("/tmp", mib=1, mode=0o755)
    for name in ("old", "new", "layer", "own", "stage"):
        os.mkdir(f"/tmp/{name}")
    linux.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")


def _make_layer(path: str, mib: int, uid: int) -> None:
    linux.mount_tmpfs(path, mib=mib, mode=0o755, uid=uid)
    for name, mode in WRITABLE.items():
        for folder in (f"{path}/{name}", f"{path}/work-{name}"):
            os.mkdir(folder)
            os.chmod(folder, mode)
            os.chown(folder, uid, uid)
    os.mkdir(f"{path}/n")


def _mount_shared_memory(uid: int) -> None:
    linux.mount_tmpfs("/new/dev/shm", mib=_SHARED_MEMORY_MIB, mode=0o1777, uid=uid)


def _shown_inside(folders: list[str]) -> dict[str, int]:
    """Descriptors of the mounts right inside the given folders, by path; but that of the script, which is replaced."""
    with open("/new/proc/self/mountinfo", "rb") as stream:
        points = [os.fsdecode(_ESCAPE.sub(lambda code: bytes([int(code[1], 8)]), line.split()[4])) for line in stream]
    inside = sorted({point for point in points if point.startswith(tuple(folders)) and point != f"/new{SCRIPT}"})
    outermost = [point for point in inside if not any(point.startswith(f"{other}/") for other in inside)]
    return {point: os.open(point, os.O_PATH) for point in outermost}


def _finish(layers: int) -> Root:
    linux.mount_tmpfs("/own", mib=_OWN_MIB, mode=0o755)
    script = os.open("/own/step.py", os.O_CREAT | os.O_RDWR, 0o644)
    _show("/own/step.py", "/new" + SCRIPT)
    top = os.open("/", os.O_PATH | os.O_DIRECTORY)
    root = Root(script, top, layers)
    root.move_in()
    return root


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
    if os.path.lexists(target):
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_RDONLY, 0o644))


def _make_devices(others: list[str]) -> None:
    for name in (*_DEVICES, *others):
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
