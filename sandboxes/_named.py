"""The backends by the names that people give them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from sandmle.errors import BadInput
from sandmle.sandboxes._local import LocalBackend
from sandmle.sandboxes._protocol import SandboxBackend

__all__ = ["SandboxName", "open_backend"]

SandboxName = Literal["local", "e2b", "ray"]


def open_backend(
    name: SandboxName, *, concurrency: int | None = None, allow_unisolated: bool = False, python: Path | None = None
) -> SandboxBackend:
    """Make a backend; nothing runs before its first use.

    Args:
        name: ``local``, ``e2b`` (extra ``e2b``) or ``ray`` (extra ``ray``).
        concurrency: steps that run at once, where it is this machine that bounds them.
        allow_unisolated: run code even where nothing shuts it in.
        python: the interpreter for the code, with its libraries; by default our own.

    Raises:
        BadInput: the name is unknown.
        EnvironmentProblem: its extra or its key is missing.
    """
    if name == "local":
        return LocalBackend(concurrency=concurrency, allow_unisolated=allow_unisolated, python=python)
    if name == "e2b":
        from sandmle.sandboxes.e2b import E2BBackend

        return E2BBackend()
    if name == "ray":
        from sandmle.sandboxes.ray import RayBackend

        return RayBackend(allow_unisolated=allow_unisolated, python=python)
    raise BadInput(f"sandbox {name!r}: unknown; it is one of {', '.join(get_args(SandboxName))}")
