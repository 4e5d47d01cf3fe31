"""What a sandbox's init is told: the spec made concrete for one tier."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sandmle.errors import BadInput
from sandmle.sandboxes._gpus import gpu_environment, gpu_files
from sandmle.sandboxes._guest import SCRIPT, wire
from sandmle.sandboxes._layout import Interpreter, base_environment, root_plan
from sandmle.sandboxes._protocol import WORKSPACE, SandboxSpec
from sandmle.trajectory import IsolationTier

__all__ = ["checked_inputs", "checked_variables", "plain_configuration", "shut_configuration"]

_FIRST_UID, _UIDS = 0x70000000, 1 << 24
"""User ids for sandboxes of root: above what containers and subordinate ids are given, so that no limit is shared."""
_INNER_UID = 1000


def shut_configuration(
    tier: IsolationTier, spec: SandboxSpec, interpreter: Interpreter, gpu: str | None
) -> dict[str, Any]:
    """For the tiers with namespaces; ``gpu`` is the number of the GPU that code may use.

    Raises:
        BadInput: an input or a variable can't be used.
    """
    uid = _random_uid() if tier == "A" else _INNER_UID
    devices = gpu_files(gpu)
    shown = gpu_environment(gpu, alone=bool(devices))
    return {
        **_common(spec, interpreter, workspace=WORKSPACE, home="/tmp", gpu=shown),
        "devices": devices,
        "namespaces": wire.PROCESSES if tier == "A" else wire.USERS,
        "own": [],
        "seen": [],
        "tier": tier,
        "switch_user": tier == "A",
        "uid": uid,
        "root": root_plan(interpreter, uid),
        "script": SCRIPT,
        "replacements": [],
    }


def plain_configuration(
    tier: IsolationTier, spec: SandboxSpec, interpreter: Interpreter, gpu: str | None, folder: Path
) -> dict[str, Any]:
    """For the tiers without namespaces, in the private ``folder``; its paths are shown as those of the others.

    Raises:
        BadInput: an input or a variable can't be used.
    """
    workspace, home, script = (str(folder / name) for name in ("workspace", "home", "step.py"))
    own = [workspace, home]
    for path in own:
        Path(path).mkdir()
    switch_user = tier == "C" and os.geteuid() == 0
    uid = _random_uid() if switch_user else os.geteuid()
    devices = gpu_files(gpu) if tier == "C" else []
    return {
        **_common(spec, interpreter, workspace=workspace, home=home, gpu=gpu_environment(gpu, alone=False)),
        "tier": tier,
        "devices": devices,
        "folder": str(folder),
        "namespaces": wire.ALONE,
        "own": own,
        "seen": _seen(interpreter, uid) if tier == "C" else [],
        "switch_user": switch_user,
        "uid": uid,
        "script": script,
        "replacements": [[workspace, WORKSPACE], [script, SCRIPT], [home, "/tmp"]],
    }


def _seen(interpreter: Interpreter, uid: int) -> list[str]:
    """What of the machine code may read where nothing can be hidden by mounts."""
    plan = root_plan(interpreter, uid)
    return [*plan["binds"], *(path for path, _ in plan["links"] if path.startswith("/etc/"))]


def _random_uid() -> int:
    return _FIRST_UID + secrets.randbelow(_UIDS)


def _common(
    spec: SandboxSpec, interpreter: Interpreter, *, workspace: str, home: str, gpu: dict[str, str]
) -> dict[str, Any]:
    return {
        "env": {
            **base_environment(interpreter, workspace=workspace, home=home, cpus=spec.limits.cpus),
            **gpu,
            **checked_variables(spec),
        },
        "gpu": gpu["CUDA_VISIBLE_DEVICES"] != "",
        "inputs": checked_inputs(spec),
        "limits": spec.limits.model_dump(),
        "stateful": spec.stateful,
        "workspace": workspace,
    }


def checked_variables(spec: SandboxSpec) -> Mapping[str, str]:
    """The spec's own variables.

    Raises:
        BadInput: a name or value can't stand in an environment.
    """
    for name, value in spec.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise BadInput(f"sandbox variable {name!r}: not a name and value that an environment can hold")
    return spec.env


def checked_inputs(spec: SandboxSpec) -> list[tuple[str, str]]:
    """Real host path and plain target of every input.

    Raises:
        BadInput: an input is missing, its target is not a plain relative path, or lies in another.
    """
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
