"""What a sandbox's init is told: the spec made concrete for one tier."""

from __future__ import annotations

import os
import secrets
from pathlib import Path, PurePosixPath
from typing import Any

from sandmle.errors import BadInput
from sandmle.sandboxes._guest import SCRIPT
from sandmle.sandboxes._layout import Interpreter, base_environment, root_plan
from sandmle.sandboxes._protocol import WORKSPACE, SandboxSpec
from sandmle.trajectory import IsolationTier

__all__ = ["plain_configuration", "shut_configuration"]

_FIRST_UID, _UIDS = 0x70000000, 1 << 24
"""User ids of tier A: above what containers and subordinate ids are given, so that no limit is shared."""
_INNER_UID = 1000


def shut_configuration(tier: IsolationTier, spec: SandboxSpec, interpreter: Interpreter) -> dict[str, Any]:
    """For the tiers with namespaces.

    Raises:
        BadInput: an input or a variable can't be used.
    """
    uid = _FIRST_UID + secrets.randbelow(_UIDS) if tier == "A" else _INNER_UID
    return {
        **_common(spec, interpreter, workspace=WORKSPACE, home="/tmp"),
        "tier": tier,
        "uid": uid,
        "root": root_plan(interpreter, uid),
        "script": SCRIPT,
        "replacements": [],
    }


def plain_configuration(spec: SandboxSpec, interpreter: Interpreter, folder: Path) -> dict[str, Any]:
    """For tier D, in the private ``folder``; its paths are shown as those of the other tiers.

    Raises:
        BadInput: an input or a variable can't be used.
    """
    workspace, home, script = (str(folder / name) for name in ("workspace", "home", "step.py"))
    for name in ("workspace", "home"):
        (folder / name).mkdir()
    return {
        **_common(spec, interpreter, workspace=workspace, home=home),
        "tier": "D",
        "uid": os.geteuid(),
        "script": script,
        "replacements": [[workspace, WORKSPACE], [script, SCRIPT], [home, "/tmp"]],
    }


def _common(spec: SandboxSpec, interpreter: Interpreter, *, workspace: str, home: str) -> dict[str, Any]:
    for name, value in spec.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise BadInput(f"sandbox variable {name!r}: not a name and value that an environment can hold")
    return {
        "env": {**base_environment(interpreter, workspace=workspace, home=home), **spec.env},
        "inputs": _inputs(spec),
        "limits": spec.limits.model_dump(),
        "workspace": workspace,
    }


def _inputs(spec: SandboxSpec) -> list[tuple[str, str]]:
    """Real host path and plain target of every input."""
    targets: list[PurePosixPath] = []
    inputs = []
    for name, host in sorted(spec.inputs.items()):
        target = PurePosixPath(name)
        if not target.parts or target.is_absolute() or ".." in target.parts:
            raise BadInput(f"sandbox input {name!r}: not a path inside the workspace")
        if any(target.is_relative_to(other) or other.is_relative_to(target) for other in targets):
            raise BadInput(f"sandbox input {name!r}: lies inside another input")
        if not host.exists():
            raise BadInput(f"{host}: no such file or folder (sandbox input {name!r})")
        targets.append(target)
        inputs.append((os.path.realpath(host), target.as_posix()))
    return inputs
