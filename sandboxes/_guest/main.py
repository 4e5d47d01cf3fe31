# ruff: noqa: TID251
"""The init of a sandbox: enters the namespaces, builds the root, then serves the host until it hangs up.

With namespaces it is pid 1 inside, and its death takes everything inside with it. It dies when the host closes the
channel, or is killed.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, NoReturn

from . import alone, files, group, linux, root, seccomp, wire
from .branch import Branches, Place
from .cells import CellRunner
from .namespaces import OTHERS, be_known_as
from .processes import pin
from .steps import StepRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Parent", "main"]


class Parent(NamedTuple):
    """The zygote: its process id, user and group as it knows them."""

    pid: int
    user: int
    group: int


_KEPT = (
    *("env", "gpu", "group", "limits", "own", "replacements", "script"),
    *("seen", "stateful", "switch_user", "tier", "uid", "workspace"),
)
"""What steps may know of the configuration, since they inherit it; the rest names places of the host."""


def main(control: int, pid: int, zygote: Parent) -> NoReturn:
    """Serve the host at the descriptor ``control``; the first frame is the configuration.

    Args:
        control: the sandbox's end of its channel.
        pid: our process id, as the zygote knows it.
        zygote: our parent.

    Raises:
        Become: in the processes of steps.
    """
    joined = group.receive(control)
    config = {**wire.read_frame(control)[0], "group": joined}
    try:
        place = Place({name: config[name] for name in _KEPT}, _enter(config, zygote))
    except Exception as error:  # noqa: BLE001 - whatever it is, the host must be told
        wire.write_frame(control, {"problem": f"{type(error).__name__}: {error}"})
        os._exit(1)
    wire.write_frame(control, {"ready": True, "pid": pid})
    _serve(place, control)


def _serve(place: Place, control: int) -> NoReturn:
    """Do what the host asks, until it has the sandbox frozen: from then on, branches of it do."""
    config = place.config
    runner = (
        CellRunner(config, control, place.state, place.cells)
        if config["stateful"]
        else StepRunner(config, control, place.root.script)
    )
    while True:
        request, blob = wire.read_frame(control)
        if request["op"] == "cancel":  # of a step that has just ended
            continue
        data = b""
        if request["op"] == "freeze":
            answer: dict[str, Any] = {"refused": runner.unforkable()}
        elif request["op"] == "run":
            root.repair(config)
            pin(request["cores"], runner.processes())
            answer = runner.run(request, blob)
        else:
            root.repair(config)
            answer, data = files.serve_file(config, request, blob)
        wire.write_frame(control, {**answer, "id": request["id"]}, data)
        if request["op"] == "freeze" and not answer["refused"]:
            break
    if isinstance(runner, CellRunner):
        place = Place(config, place.root, runner.state, runner.count)
    Branches(place, control, _serve).listen()
    os._exit(0)


def _enter(config: dict[str, Any], zygote: Parent) -> root.Root:
    """Become the sandbox's init."""
    if sys.platform == "linux":
        linux.die_with_parent()
    if os.getppid() not in (zygote.pid, 0):  # 0 is whoever is outside of our pid namespace
        os._exit(1)
    if config["tier"] == "D":
        return root.Root(alone.prepare(config), top=-1, layers=0)
    if linux.MACHINE not in seccomp.SUPPORTED:
        raise OSError(f"isolation knows x86-64 and aarch64, not {linux.MACHINE}")
    if config["tier"] == "C":
        return root.Root(alone.prepare(config), top=-1, layers=0)
    if config["tier"] == "B":
        be_known_as(config["uid"], zygote.user, zygote.group)
    linux.unshare(OTHERS)
    found = root.build_root(config)
    linux.set_hostname("sandbox")
    linux.loopback_up()
    linux.set_dumpable(False)
    return found
