# ruff: noqa: PTH101, PTH103, PTH107, PTH120, PTH123, TID251
"""Makes a new machine ready: workspace, inputs, code's user, pipes.

Inputs and the folders on the way to them belong to root, in folders with the sticky bit, so that code can neither
change nor move them. The configuration is kept in the machine, so that a copy of it needs no other.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from . import CELLS, PRIVATE, SCRIPT, UPLOADS
from .cells import PIPES
from .people import UID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CONFIGURATION", "set_up"]

CONFIGURATION = f"{PRIVATE}/configuration.json"
_ACCOUNT = {"/etc/passwd": f"sandbox:x:{UID}:{UID}:sandbox:/tmp:/bin/sh\n", "/etc/group": f"sandbox:x:{UID}:\n"}


def set_up(config: dict[str, Any]) -> dict[str, Any]:
    """Make the machine ready; doing it twice does no harm.

    Args:
        config: ``workspace``, ``env``, ``limits``, ``stateful`` and ``inputs``, the targets in the workspace.

    Returns:
        the Python ``version`` that code will run with.
    """
    workspace = config["workspace"]
    os.makedirs(workspace, exist_ok=True)
    os.chmod(workspace, 0o1777)
    os.chmod("/tmp", 0o1777)
    _add_account()
    _unpack_inputs(workspace, config["inputs"])
    with open(SCRIPT, "wb"):
        os.chmod(SCRIPT, 0o644)
    if config["stateful"]:
        _make_pipes()
    interpreter = os.path.dirname(sys.executable)
    path = f"{interpreter}:/usr/local/bin:/usr/bin:/bin"
    with open(CONFIGURATION, "w") as stream:
        json.dump({**config, "env": {"PATH": path, **config["env"]}}, stream)
    return {"version": ".".join(map(str, sys.version_info[:3]))}


def _add_account() -> None:
    for path, line in _ACCOUNT.items():
        with contextlib.suppress(FileNotFoundError), open(path, "r+") as stream:
            if line not in stream.readlines():
                stream.write(line)


def _unpack_inputs(workspace: str, targets: list[str]) -> None:
    for target in targets:
        parent = os.path.dirname(target)
        while parent:
            os.makedirs(f"{workspace}/{parent}", exist_ok=True)
            os.chmod(f"{workspace}/{parent}", 0o1777)
            parent = os.path.dirname(parent)
    archive = f"{UPLOADS}/inputs.tar"
    if os.path.exists(archive):  # noqa: PTH110
        import tarfile  # a request that is not the first needs none of it

        with tarfile.open(archive) as tar:
            tar.extractall(workspace, filter="tar")
        os.remove(archive)


def _make_pipes() -> None:
    os.makedirs(CELLS, exist_ok=True)
    for name in PIPES:
        with contextlib.suppress(FileExistsError):
            os.mkfifo(f"{CELLS}/{name}", 0o600)
        os.chown(f"{CELLS}/{name}", UID, UID)
